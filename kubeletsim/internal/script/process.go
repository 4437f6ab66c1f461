package script

import (
	"errors"
	"time"

	"minikcm.dev/minikcm/internal/span"
)

// The errors that end the simulation of a program early.
var (
	// ErrNotPredictable means that the program does something that cannot be predicted.
	ErrNotPredictable = errors.New("not understood")
	// ErrRunsForever means that the program never ends.
	ErrRunsForever = errors.New("runs forever")
	// ErrStopped means that the caller's Advance or the budget ended the simulation.
	ErrStopped = errors.New("stopped")
)

// Stream is an output of a process: Stdout or Stderr.
type Stream string

// Process is one run of a program. Time passes in it only when the program sleeps. It is run
// ahead of the clock to predict the program's end, and along with the clock to reproduce its
// output.
type Process struct {
	// Began is the start of the run and Took the time that has passed in it.
	Began time.Time
	Took  time.Duration
	// Advance is called when Took has grown; its error ends the run. Nil: time passes at once.
	Advance func(took time.Duration) error
	// Write receives the output; nil discards it.
	Write func(to Stream, text string)
	// Budget is the number of commands that may still be executed.
	Budget int
	// Settled is the time in the run up to which only the last KeepLines lines are wanted.
	Settled time.Duration
	// assuming means that unknown programs succeed at once.
	assuming bool
	// written counts the lines of output.
	written int
}

func (p *Process) sleep(d time.Duration) error {
	p.Took = span.Sum(p.Took, d)
	if p.Advance != nil {
		return p.Advance(p.Took)
	}
	if p.Took == span.Forever {
		return ErrRunsForever
	}
	return nil
}

// skip advances Took past rounds of a loop that equal the last one, which took d and wrote that
// many lines. It keeps enough rounds before Settled for the last KeepLines lines.
func (p *Process) skip(d time.Duration, lines int) {
	if d <= 0 || p.Took >= p.Settled {
		return
	}
	rounds := int64((p.Settled - p.Took) / d)
	if lines > 0 {
		rounds -= int64(KeepLines/lines) + 1
	}
	if rounds > 0 {
		p.Took += time.Duration(rounds) * d
	}
}

func (p *Process) spend() error {
	p.Budget--
	switch {
	case p.Budget >= 0:
		return nil
	case p.Write == nil:
		return ErrRunsForever
	}
	return ErrStopped
}

// KeepLines is the number of lines that the log of one run holds.
const KeepLines = 10000
