package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// maxPipeline bounds the commands of one pipeline.
const maxPipeline = 1000

// maxJobs is the number of jobs beyond which a shell forgets those that have ended.
const maxJobs = 500

// job is a background job. Its fields after done are valid when done is closed.
type job struct {
	pid    int
	number int
	text   string
	cancel func()
	done   chan struct{}
	status int
}

// background starts a job.
func (s *Shell) background(ctx context.Context, stmt *syntax.Stmt) error {
	turn := s.turn.Fork()
	child, err := s.fork(turn)
	if err != nil {
		return err
	}
	if !s.Interactive {
		child.files[0].close()
		child.files[0] = &stream{}
	}
	child.guarded, child.loops = 0, 0
	j := &job{pid: s.nextPID, done: make(chan struct{}), text: commandText(stmt)}
	for _, other := range s.jobs {
		j.number = max(j.number, other.number)
	}
	j.number++
	s.nextPID++
	s.lastJob = j.pid
	if s.jobs = append(s.jobs, j); len(s.jobs) > maxJobs {
		s.jobs = slices.DeleteFunc(s.jobs, (*job).ended)
	}
	own := *stmt
	own.Background = false
	s.spawn(ctx, j, child, func(ctx context.Context) error { return child.stmt(ctx, &own) })
	s.status = 0
	return nil
}

// spawn starts a job, which executes do in the subshell child and closes it.
func (s *Shell) spawn(ctx context.Context, j *job, child *Shell, do func(ctx context.Context) error) {
	turn := child.turn
	j.cancel = s.Container.Spawn(ctx, func(ctx context.Context) {
		defer close(j.done)
		defer turn.End()
		defer child.Close()
		ctx = WithTurn(ctx, turn)
		err := child.finish(ctx, do(ctx))
		if j.status = child.status; err != nil {
			j.status = statusTerminated
		}
	})
}

// commandText returns a command for jobs: its first words.
func commandText(stmt *syntax.Stmt) string {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return "(...)"
	}
	var words []string
	for _, word := range call.Args {
		words = append(words, word.Lit())
	}
	return strings.Join(words, " ")
}

// findJob returns the job that %1, %%, %name or a process ID names; nil if there is none.
func (s *Shell) findJob(word string) *job {
	name, isJob := strings.CutPrefix(word, "%")
	if isJob && (name == "" || name == "%" || name == "+") && len(s.jobs) > 0 {
		return s.jobs[len(s.jobs)-1]
	}
	n, err := strconv.Atoi(name)
	for _, j := range s.jobs {
		if err == nil && (isJob && j.number == n || !isJob && j.pid == n) || isJob && err != nil && strings.HasPrefix(j.text, name) {
			return j
		}
	}
	return nil
}

// await waits for the end of a job.
func (s *Shell) await(ctx context.Context, j *job) error {
	defer s.turn.Await(j.done, ctx.Done())()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended reports whether a job has ended.
func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// pipeline executes commands with pipes between them, each in a subshell: the last on this goroutine, the
// others on their own. It returns when all have ended.
func (s *Shell) pipeline(ctx context.Context, cmd *syntax.BinaryCmd) error {
	first, rest := leftmost(cmd, func(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll })
	if len(rest) >= maxPipeline {
		return s.fail("a pipeline has too many commands")
	}
	stmts := []*syntax.Stmt{first}
	for _, b := range rest {
		stmts = append(stmts, b.Y)
	}
	members := make([]*member, 0, len(stmts))
	// Timeline of an early return: the context of the members that have started ends, and each of them is
	// waited for.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var in *stream
	var err error
	for i, stmt := range stmts {
		m := &member{stmt: stmt, done: make(chan struct{}), turn: s.turn}
		if i < len(rest) {
			m.turn = s.turn.Fork()
		}
		if m.shell, err = s.fork(m.turn); err != nil {
			cancel()
			break
		}
		if in != nil {
			m.shell.files[0].close()
			m.shell.files[0], in = in, nil
		}
		if i < len(rest) {
			in = m.connect(rest[i].Op == syntax.PipeAll)
		}
		members = append(members, m)
		if i < len(rest) {
			end := m.turn.Begin()
			go func() {
				defer end()
				m.run(inner)
			}()
		} else {
			m.run(inner)
		}
	}
	in.close()
	s.statuses = nil
	for _, m := range members {
		back := s.turn.Await(m.done)
		<-m.done // its context ends with ours
		back()
		s.statuses = append(s.statuses, m.status)
		if err == nil && m.err != nil {
			err = m.err
		}
	}
	if err != nil {
		return err
	}
	s.status = s.statuses[len(s.statuses)-1]
	if s.options["pipefail"] {
		for _, status := range s.statuses {
			if status != 0 && (unknown.Known(status) || s.status == 0) {
				s.status = status
			}
		}
	}
	return nil
}

// member is one command of a pipeline.
type member struct {
	stmt   *syntax.Stmt
	shell  *Shell
	turn   *Turn
	done   chan struct{}
	status int
	err    error
}

// connect makes the command's output a pipe, and returns the other end.
func (m *member) connect(all bool) *stream {
	p := NewPipe(m.shell.Container)
	out := &stream{out: p, ends: pipeWriter{p}}
	m.shell.files[1].close()
	m.shell.files[1] = out
	if all {
		m.shell.files[2].close()
		m.shell.files[2] = out.share()
	}
	return &stream{in: p, ends: pipeReader{p}}
}

func (m *member) run(ctx context.Context) {
	defer close(m.done)
	if m.turn != TurnOf(ctx) {
		defer m.turn.End()
	}
	defer m.shell.Close()
	defer func() {
		if r := recover(); r != nil {
			m.err = fmt.Errorf("a command of a pipeline failed: %v", r)
		}
	}()
	ctx = WithTurn(ctx, m.turn)
	m.err = m.shell.finish(ctx, m.shell.stmt(ctx, m.stmt))
	m.status = m.shell.status
}

// inSubshell executes statements in a subshell on this goroutine.
func (s *Shell) inSubshell(ctx context.Context, list []*syntax.Stmt) error {
	child, err := s.fork(s.turn)
	if err != nil {
		return err
	}
	defer child.Close()
	err = child.finish(ctx, child.stmts(ctx, list))
	s.status = child.status
	return err
}

// capture executes statements in a subshell, and returns what they wrote. It waits for their background
// jobs that may still write.
func (s *Shell) capture(ctx context.Context, list []*syntax.Stmt) (string, error) {
	s.substituted++
	if text, ok, err := s.captureFile(ctx, list); ok || err != nil {
		return text, err
	}
	child, err := s.fork(s.turn)
	if err != nil {
		return "", err
	}
	p := NewPipe(s.Container)
	p.limit = 0
	defer pipeReader{p}.Close() // it has no error
	child.files[1].close()
	child.files[1] = &stream{out: p, ends: pipeWriter{p}}
	child.guarded = 0
	err = s.nested(func() error { return child.finish(ctx, child.stmts(ctx, list)) })
	status := child.status
	child.Close()
	if err != nil {
		return "", err
	}
	data, err := p.all(ctx)
	if err != nil {
		return "", err
	}
	s.held += int64(len(data)) // the pipe has reserved it
	s.status = status
	text := strings.ReplaceAll(string(data), "\x00", "")
	return strings.TrimRight(text, "\n"), nil
}

// captureFile is capture for $(<file).
func (s *Shell) captureFile(ctx context.Context, list []*syntax.Stmt) (string, bool, error) {
	if len(list) != 1 || list[0].Cmd != nil || len(list[0].Redirs) != 1 || list[0].Redirs[0].Op != syntax.RdrIn {
		return "", false, nil
	}
	f, err := s.target(ctx, list[0].Redirs[0])
	if err == errReported { // it is never wrapped
		s.status = 1
		return "", true, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.close()
	data, err := s.readAll(ctx, f.in)
	if err != nil && ctx.Err() != nil {
		return "", false, err
	}
	s.status = 0
	return strings.TrimRight(string(data), "\n"), true, nil
}

// timed executes time.
func (s *Shell) timed(ctx context.Context, cmd *syntax.TimeClause) error {
	began := s.Container.Now()
	if cmd.Stmt != nil {
		if err := s.stmt(ctx, cmd.Stmt); err != nil {
			return err
		}
	}
	took := s.Container.Now().Sub(began)
	format := "real\t%dm%.3fs\nuser\t0m0.000s\nsys\t0m0.000s\n"
	minutes := int(took.Minutes())
	seconds := took.Seconds() - float64(minutes)*60
	if cmd.PosixFormat {
		seconds = took.Seconds()
		s.files[2].print(ctx, fmt.Sprintf("real %.2f\nuser 0.00\nsys 0.00\n", seconds))
		return nil
	}
	s.files[2].print(ctx, fmt.Sprintf(format, minutes, seconds))
	return nil
}
