package shell

import "errors"

// jump is the error with which a command leaves what is around it.
type jump struct {
	kind jumpKind
	// n is the number of loops that break and continue leave.
	n int
}

type jumpKind int

const (
	jumpBreak jumpKind = iota
	jumpContinue
	jumpReturn
	// jumpExit ends the shell.
	jumpExit
	// jumpAbort is the end of a command whose words cannot be expanded. It ends a shell that is not
	// interactive.
	jumpAbort
)

func (*jump) Error() string { return "a jump outside of a shell" }

// fail reports why a command cannot be executed.
func (s *Shell) fail(format string, args ...any) error {
	s.complain(format, args...)
	s.status = 2
	return &jump{kind: jumpAbort}
}

// jumped returns the jump that an error is; nil if it is none.
func jumped(err error) *jump {
	var j *jump
	if errors.As(err, &j) {
		return j
	}
	return nil
}
