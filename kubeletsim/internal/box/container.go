package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// A session is the shell.Container of its shells.
var _ shell.Container = (*session)(nil)

// Reserve implements shell.Memory. A reservation beyond the container's memory kills the command.
func (s *session) Reserve(n int64) error {
	err := s.machine.Memory.Reserve(n)
	if err != nil {
		s.killed.Store(true)
		s.cancel()
		s.endJobs()
	}
	return err
}

// Release implements shell.Memory.
func (s *session) Release(n int64) { s.machine.Memory.Release(n) }

// Open implements shell.Container.
func (s *session) Open(name string, flag int, perm fs.FileMode) (shell.File, error) {
	if name == "/dev/tty" {
		return terminalFile{s}, nil
	}
	if fd, ok := strings.CutPrefix(name, "/proc/1/fd/"); ok {
		if s.machine.Output != nil {
			if out := s.machine.Output(fd); out != nil {
				return outputFile{out}, nil
			}
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := s.machine.Files.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if f.Assumed() {
		s.Assume(unknown.Show(name) + " exists")
	}
	return f, nil
}

// terminalFile is /dev/tty.
type terminalFile struct{ *session }

func (t terminalFile) Read([]byte) (int, error)    { return 0, io.EOF }
func (t terminalFile) Write(p []byte) (int, error) { return t.out.Write(p) }
func (t terminalFile) Close() error                { return nil }

// outputFile is a stream of the container's process.
type outputFile struct{ io.Writer }

func (outputFile) Read([]byte) (int, error) { return 0, io.EOF }
func (outputFile) Close() error             { return nil }

// Stat implements shell.Container.
func (s *session) Stat(name string) (fs.FileInfo, error) { return s.machine.Files.Stat(name) }

// Lstat implements shell.Container.
func (s *session) Lstat(name string) (fs.FileInfo, error) { return s.machine.Files.Lstat(name) }

// ReadDir implements shell.Container.
func (s *session) ReadDir(name string) ([]fs.DirEntry, error) { return s.machine.Files.ReadDir(name) }

// Now implements shell.Container.
func (s *session) Now() time.Time { return s.machine.Clock.Now() }

// Find implements shell.Container.
func (s *session) Find(name, dir, search string) string {
	candidates := []string{absolute(dir, name)}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, in := range strings.Split(search, ":") {
			candidates = append(candidates, path.Join(absolute(dir, in), name))
		}
	}
	perhaps := ""
	for _, file := range candidates {
		info, err := s.machine.Files.Stat(file)
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
		if errors.Is(err, unknown.ErrFile) {
			perhaps = unknown.Text
		}
	}
	return perhaps
}

// Kill implements shell.Container.
func (s *session) Kill(ctx context.Context, c *shell.Program) int {
	p := s.newProc(ctx, c.Args, c.Env, c.Dir)
	p.stdout, p.stderr = c.Out, c.Err
	p.bind(ctx)
	return p.execute(ctx, kill)
}

// Spawn implements shell.Container. A job ends with the command at the latest: Run waits for it.
func (s *session) Spawn(ctx context.Context, do func(ctx context.Context)) (cancel func()) {
	ctx, end := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), backgroundKey{}, true))
	s.mu.Lock()
	if s.ends == nil {
		s.ends = map[*context.CancelFunc]bool{}
	}
	s.ends[&end] = true
	over := s.over
	s.mu.Unlock()
	if over {
		end()
	}
	ended := s.attention.Begin()
	s.jobs.Go(func() {
		defer ended()
		defer func() {
			end()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.ends, &end)
		}()
		defer func() {
			if r := recover(); r != nil {
				_, _ = fmt.Fprintf(s.err, "sh: a job failed: %v\n", r)
			}
		}()
		do(ctx)
	})
	return func() {
		end()
		s.attention.recall()
	}
}

// endJobs ends the background jobs, also those that start from now on.
func (s *session) endJobs() {
	s.mu.Lock()
	ends := s.ends
	s.ends, s.over = nil, true
	s.mu.Unlock()
	for end := range ends {
		(*end)()
	}
}

// beside runs do as another part of the program. done is closed when it has ended; stop ends it, and waits for that.
func (p *proc) beside(ctx context.Context, do func(ctx context.Context)) (done <-chan struct{}, stop func()) {
	turn, ended := shell.TurnOf(ctx).Fork(), make(chan struct{})
	end := p.Spawn(ctx, func(ctx context.Context) {
		defer close(ended)
		defer turn.End()
		do(shell.WithTurn(ctx, turn))
	})
	return ended, func() {
		end()
		defer shell.TurnOf(ctx).Await(ended)()
		<-ended
	}
}

// own makes a connection one of the command's, which close at its end.
func (s *session) own(e *end) *end {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == nil {
		s.connections = map[*end]bool{}
	}
	s.connections[e] = true
	e.session, e.out.memory = s, s
	return e
}

func (s *session) forget(e *end) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, e)
}

// hangUp closes what the command has left open.
func (s *session) hangUp() {
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.connections))
	s.mu.Unlock()
	for _, e := range left {
		e.close(false)
	}
}

// writerFunc is a writer that is a func.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// boundWriter returns an output with the context of the program that writes to it. Its error is errNoWriter
// if the reader has gone.
func boundWriter(ctx context.Context, w shell.Writer) io.Writer {
	turn := shell.TurnOf(ctx)
	return writerFunc(func(p []byte) (int, error) {
		if err := turn.Step(ctx); err != nil {
			return 0, err
		}
		n, err := w.WriteContext(ctx, p)
		if errors.Is(err, syscall.EPIPE) {
			err = fmt.Errorf("%w: %w", errNoWriter, err)
		}
		return n, err
	})
}

// boundReader returns an input with the context of the program that reads it.
func boundReader(ctx context.Context, r shell.Reader) io.Reader {
	turn := shell.TurnOf(ctx)
	return readerFunc(func(p []byte) (int, error) {
		if err := turn.Step(ctx); err != nil {
			return 0, err
		}
		return r.ReadContext(ctx, p)
	})
}

// plainReader is a reader that never waits.
type plainReader struct{ io.Reader }

// ReadContext implements shell.Reader.
func (r plainReader) ReadContext(_ context.Context, p []byte) (int, error) { return r.Read(p) }
