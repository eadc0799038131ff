module bench

go 1.19

require faina.example/faina v0.0.0

replace faina.example/faina => ../../../sdk/go
