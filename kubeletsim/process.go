package kubeletsim

import (
	"errors"
	"time"
)

// What ends the running of a simulated program.
var (
	// errUnknown: it does something of which it is not known what that would do.
	errUnknown = errors.New("not understood")
	// errForever: nothing comes after this any more.
	errForever = errors.New("runs forever")
	// errStop: nobody wants to know what comes after this.
	errStop = errors.New("stopped")
)

// stream is where a process writes to.
type stream string

// process is one run of a program, in which time passes only where the program lets
// it pass: it is run ahead to learn how it ends, and along with the clock to learn
// what it has written.
type process struct {
	// began is when the run began; took is how long it has run.
	began time.Time
	took  time.Duration
	// advance is called when took has grown, and may end the run. Nil: nobody waits.
	advance func(took time.Duration) error
	// write takes what is written; nil: nobody reads.
	write func(to stream, text string)
	// budget is how many commands it may still execute.
	budget int
	// settled is up to which time of its run only the last keepLines lines matter.
	settled time.Duration
	// written counts the lines.
	written int
}

func (p *process) sleep(d time.Duration) error {
	p.took = sum(p.took, d)
	if p.advance != nil {
		return p.advance(p.took)
	}
	if p.took == forever {
		return errForever
	}
	return nil
}

// skip leaves out rounds of a loop that are like the last one, which took d and wrote
// so many lines, as far as nobody will miss them.
func (p *process) skip(d time.Duration, lines int) {
	if d <= 0 || p.took >= p.settled {
		return
	}
	rounds := int64((p.settled - p.took) / d)
	if lines > 0 {
		rounds -= int64(keepLines/lines) + 1
	}
	if rounds > 0 {
		p.took += time.Duration(rounds) * d
	}
}

func (p *process) spend() error {
	p.budget--
	switch {
	case p.budget >= 0:
		return nil
	case p.write == nil:
		return errForever
	}
	return errStop
}
