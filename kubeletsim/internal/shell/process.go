package shell

import (
	"context"
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// firstProcessFD is the descriptor of a command's first process substitution; the next ones count down.
	firstProcessFD = 63
	// lastProcessFD is the lowest of them.
	lastProcessFD = 10
)

// process is a process substitution: a job beside the shell, which has the other end of its pipe.
type process struct {
	*job
	fd   int
	pipe *Pipe
	// reads means that the job reads the shell's output.
	reads bool
}

// substitute starts the commands of <(...) or >(...), and returns the name of the shell's end of their pipe, which
// stays open until the command ends.
func (s *Shell) substitute(ctx context.Context, part *syntax.ProcSubst) (string, error) {
	fd := firstProcessFD
	for s.files[fd] != nil {
		if fd--; fd < lastProcessFD {
			return "", s.fail("a command has too many process substitutions")
		}
	}
	turn := s.turn.Fork()
	child, err := s.fork(turn)
	if err != nil {
		return "", err
	}
	for _, other := range s.processes {
		child.files[other.fd].close()
		delete(child.files, other.fd)
	}
	p := NewPipe(s.Container)
	own, given, at := &stream{in: p, ends: pipeReader{p}}, &stream{out: p, ends: pipeWriter{p}}, 1
	reads := part.Op == syntax.CmdOut
	if reads {
		own, given, at = given, own, 0
	}
	child.files[at].close()
	child.files[at] = given
	child.guarded, child.loops = 0, 0
	s.files[fd] = own
	j := &job{pid: s.nextPID, done: make(chan struct{})}
	s.nextPID++
	s.processes = append(s.processes, &process{job: j, fd: fd, pipe: p, reads: reads})
	s.spawn(ctx, j, child, func(ctx context.Context) error { return child.stmts(ctx, part.Stmts) })
	return "/dev/fd/" + strconv.Itoa(fd), nil
}

// endProcesses closes the pipes of the process substitutions since mark, a former length of processes. It waits for
// those that read, so that a command's output has passed when the command has. The others end when they write.
func (s *Shell) endProcesses(ctx context.Context, mark int) error {
	if len(s.processes) == mark {
		return nil
	}
	ended := slices.Clone(s.processes[mark:])
	s.processes = s.processes[:mark]
	for _, p := range ended {
		s.files[p.fd].close()
		delete(s.files, p.fd)
	}
	s.readers = slices.DeleteFunc(s.readers, func(p *process) bool { return p.ended() })
	for _, p := range ended {
		if p.reads {
			s.readers = append(s.readers, p)
		}
	}
	return s.awaitReaders(ctx)
}

// awaitReaders waits for the process substitutions that read, except those that something still writes to.
func (s *Shell) awaitReaders(ctx context.Context) error {
	for _, p := range s.readers {
		if !p.pipe.written() {
			continue
		}
		if err := s.await(ctx, p.job); err != nil {
			return err
		}
	}
	return nil
}

// written reports whether nothing can write to the pipe any more.
func (p *Pipe) written() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writers == 0
}

// descriptors returns the streams beside input, output and errors that a program inherits.
func (s *Shell) descriptors() map[int]Descriptor {
	var found map[int]Descriptor
	for fd, f := range s.files {
		if fd > 2 && f != nil {
			if found == nil {
				found = map[int]Descriptor{}
			}
			found[fd] = Descriptor{In: f.in, Out: f.out}
		}
	}
	return found
}
