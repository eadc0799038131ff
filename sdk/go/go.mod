module faina.example/faina

go 1.19
