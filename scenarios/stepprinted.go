package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Printed waits until a program that runs in the background has printed a text.
type Printed struct {
	// By is the name of the background step that runs the program.
	By string `yaml:"by"`
	// Text is a part of the line. Lines up to the one that the step before has found for the
	// same program do not count.
	Text string `yaml:"text"`
	// Within is how much of the cluster's time may pass; default 1m.
	Within spec.Duration `yaml:"within"`
}

func (p *Printed) check(c *spec.Checker) {
	if p.By == "" {
		c.Problem("by", "is missing: name the background step that runs the program")
	}
	if p.Text == "" {
		c.Problem("text", "is missing: say what the program prints")
	}
	if p.Within == 0 {
		p.Within = spec.Duration(check.DefaultWithin)
		if timeout := c.Timeout(); timeout > 0 {
			p.Within = min(p.Within, spec.Duration(timeout))
		}
	}
	c.Within(p.Within)
}

func (p *Printed) title() string { return p.By + " prints " + p.Text }

// possible returns an error unless a program of the scenario has the name that p waits for.
func (p *Printed) possible(s *Scenario) error {
	var names []string
	walk(s, func(step *spec.Step) {
		if step.Background && step.Name != "" && kindOf(step).program {
			names = append(names, step.Name)
		}
	})
	switch {
	case slices.Contains(names, p.By):
		return nil
	case len(names) == 0:
		return errors.New("no step with a name runs a program in the background")
	}
	return fmt.Errorf("no program runs in the background as %q; there are %s", p.By, strings.Join(names, ", "))
}

func (b *branch) printed(ctx context.Context, p *Printed) error {
	output := b.run.outputOf(p.By)
	output.follow(b.Raise)
	defer output.follow(nil)
	var over atomic.Bool
	limit := time.Duration(p.Within)
	timer := b.run.clock.AfterFunc(limit, func() {
		b.raiseLast(func() { over.Store(true) })
	})
	defer timer.Stop()
	for !output.find(p.Text) {
		if over.Load() {
			return fmt.Errorf("not within %v: %s", limit, output.last())
		}
		if err := b.Wait(ctx); errors.As(err, new(failedElsewhere)) {
			return err
		} else if err != nil {
			return fmt.Errorf("%w: %s", err, output.last())
		}
	}
	return nil
}

// output is the text that a background program has printed.
type output struct {
	mu    sync.Mutex
	lines []string
	// seen is the number of the first lines that do not count any more.
	seen int
	// raise is called after a line was added, by a goroutine in flight.
	raise func()
}

// outputOf returns the output of the background step of that name, which may begin later.
func (r *run) outputOf(name string) *output {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outputs == nil {
		r.outputs = map[string]*output{}
	}
	if r.outputs[name] == nil {
		r.outputs[name] = &output{}
	}
	return r.outputs[name]
}

func (o *output) add(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, line)
	if o.raise != nil {
		o.raise()
	}
}

func (o *output) follow(raise func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.raise = raise
}

// find reports whether one of the lines that count contains text. Those up to that one do not
// count any more.
func (o *output) find(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.lines[o.seen:], func(line string) bool { return strings.Contains(line, text) })
	if i >= 0 {
		o.seen += i + 1
	}
	return i >= 0
}

// last returns a text about the last output of the program.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) == 0 {
		return "it has printed nothing"
	}
	return fmt.Sprintf("the last line that it has printed is %q", o.lines[len(o.lines)-1])
}
