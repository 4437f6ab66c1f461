//go:build unix

package ha

import (
	"bytes"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// process is a program that can be killed and started again.
type process struct {
	t       *testing.T
	name    string
	command func() *exec.Cmd

	cmd    *exec.Cmd
	ended  chan struct{}
	output *tail
}

func (p *process) start() {
	p.t.Helper()
	p.cmd, p.ended, p.output = p.command(), make(chan struct{}), &tail{}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("starting %s: %v", p.name, err)
	}
	cmd, ended := p.cmd, p.ended
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
}

func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("sending %v to %s: %v", s, p.name, err)
	}
}

// alive fails the test if the process has ended by itself.
func (p *process) alive() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Errorf("%s has ended:\n%s", p.name, p.output)
	default:
	}
}

// tail keeps the end of the text that is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailBytes = 16 << 10

func (b *tail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if len(b.data) > 2*tailBytes {
		b.data = bytes.Clone(b.data[len(b.data)-tailBytes:])
	}
	return len(p), nil
}

func (b *tail) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.data)
}
