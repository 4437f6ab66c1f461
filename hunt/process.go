package hunt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/internal/processgroup"
)

// process is one life of a program.
type process struct {
	cmd   *exec.Cmd
	front *front
	dir   string
	log   *lastLog
	ended chan struct{}
	err   error // of the program, once it has ended
	// release ends the guard of the program.
	release func()
}

// startProcess runs a program with a kubeconfig of the front. ended is called when it has ended.
func startProcess(ctx context.Context, command []string, f *front, ended func()) (*process, error) {
	dir, err := os.MkdirTemp("", "minikcm-hunt-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the kubeconfig: %w", err)
	}
	p := &process{front: f, dir: dir, log: &lastLog{}, ended: make(chan struct{})}
	file := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(file, f.kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	// The contexts of runs end before the program does, which kill ends.
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...) // the user asked to run it
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+file)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = time.Second // children that keep its output open are killed with it
	processgroup.Lead(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
		ended()
	}()
	if p.release, err = processgroup.Guard(p.cmd.Process.Pid); err != nil {
		p.release = func() {} // there is no shell: it would outlive this process, if that is killed
	}
	return p, nil
}

// hasEnded reports whether the program has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the program with its children, its connections and its files.
func (p *process) kill() {
	p.release()
	processgroup.End(p.cmd.Process.Pid)
	<-p.ended
	p.front.close()
	_ = os.RemoveAll(p.dir) // a temporary folder
}

// maxLog caps the bytes of the log that are kept.
const maxLog = 8 << 10

// lastLog keeps the end of what a program prints.
type lastLog struct {
	mu   sync.Mutex
	kept []byte
}

func (l *lastLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if over := len(l.kept) - maxLog; over > 0 {
		l.kept = bytes.Clone(l.kept[over:])
	}
	return len(p), nil
}

const (
	// maxLogLines is how many lines a report has of a log, and maxLogLine caps the bytes of each.
	maxLogLines = 10
	maxLogLine  = 400
)

// lines returns the last lines, indented; a sentence if there are none.
func (l *lastLog) lines() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(l.kept))
	if text == "" {
		return " It printed nothing."
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(len(lines)-maxLogLines, 0):]
	for i, line := range lines {
		if len(line) > maxLogLine {
			lines[i] = strings.ToValidUTF8(line[:maxLogLine], "") + "…"
		}
	}
	return " Its last lines:\n    " + strings.Join(lines, "\n    ")
}

// panicked returns the line with which a Go program has ended in a panic; empty if there is none.
func (l *lastLog) panicked() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(l.kept)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
