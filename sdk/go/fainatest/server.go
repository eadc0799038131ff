// Package fainatest starts a private server for tests.
package fainatest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"faina.example/faina"
)

// Server is `faina serve` on a free port of this machine, in a temporary folder. It needs the program: $FAINA_BIN, or
// `faina` in the PATH.
type Server struct {
	URL    string
	Folder string
	store  string
	listen string
	cmd    *exec.Cmd
}

// Start starts a server; store is the URL of its store, "" for one in memory.
func Start(store string) (*Server, error) {
	if store == "" {
		store = "memory:"
	}
	folder, err := os.MkdirTemp("", "faina-")
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder, store: store, listen: "127.0.0.1:0"}
	return s, s.Begin()
}

var address = regexp.MustCompile(`https?://[0-9.]+:[0-9]+`)

// Begin starts the program again, on the same port, after Stop or Kill.
func (s *Server) Begin() error {
	program := os.Getenv("FAINA_BIN")
	if program == "" {
		program = "faina"
	}
	s.cmd = exec.Command(program, "serve", "--listen", s.listen, "--url", s.store)
	s.cmd.Dir = s.Folder
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "FAINA_") {
			s.cmd.Env = append(s.cmd.Env, variable)
		}
	}
	pipe, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	reader := bufio.NewReader(pipe)
	for text := ""; ; {
		line, err := reader.ReadString('\n')
		text += line
		if found := address.FindString(line); found != "" {
			s.URL, s.listen = found, strings.SplitN(found, "//", 2)[1]
			break
		}
		if err != nil {
			return fmt.Errorf("faina serve has ended: %s", text)
		}
	}
	go io.Copy(io.Discard, reader)
	return nil
}

// Client returns a client of the server.
func (s *Server) Client() *faina.Client {
	client, err := faina.NewClient(faina.URL(s.URL))
	if err != nil {
		panic(err) // the URL is the server's
	}
	return client
}

// Stop ends the program in order.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the program at once.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(signal os.Signal) {
	s.cmd.Process.Signal(signal)
	s.cmd.Wait()
}

// Pause lets the program hang: it accepts connections and doesn't answer, until Resume.
func (s *Server) Pause() { s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets the program go on.
func (s *Server) Resume() { s.cmd.Process.Signal(syscall.SIGCONT) }

// Close ends the program and removes its folder.
func (s *Server) Close() {
	s.Resume() // a stopped process doesn't end
	s.Stop()
	os.RemoveAll(s.Folder)
}
