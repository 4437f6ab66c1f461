package script

import (
	"errors"
	"time"

	"minikcm.dev/minikcm/kubeletsim/span"
)

// What ends the running of a simulated program.
var (
	// ErrNotPredictable: it does something of which it is not known what that would do.
	ErrNotPredictable = errors.New("not understood")
	// ErrRunsForever: nothing comes after this any more.
	ErrRunsForever = errors.New("runs forever")
	// ErrStopped: nobody wants to know what comes after this.
	ErrStopped = errors.New("stopped")
)

// Stream is where a process writes to.
type Stream string

// Process is one run of a program, in which time passes only where the program lets
// it pass: it is run ahead to learn how it ends, and along with the clock to learn
// what it has written.
type Process struct {
	// Began is when the run began; took is how long it has run.
	Began time.Time
	Took  time.Duration
	// Advance is called when took has grown, and may end the run. Nil: nobody waits.
	Advance func(took time.Duration) error
	// Write takes what is written; nil: nobody reads.
	Write func(to Stream, text string)
	// Budget is how many commands it may still execute.
	Budget int
	// Settled is up to which time of its run only the last keepLines lines matter.
	Settled time.Duration
	// written counts the lines.
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

// skip leaves out rounds of a loop that are like the last one, which took d and wrote
// so many lines, as far as nobody will miss them.
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

// KeepLines is how many lines of a run are kept.
const KeepLines = 10000
