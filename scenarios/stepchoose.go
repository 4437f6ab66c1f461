package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Choose does some of several alternatives, as the seed chooses.
type Choose struct {
	// Count is the number of options to run, each once; default 1.
	Count int      `yaml:"count"`
	Of    []Option `yaml:"of"`
}

// Option is an alternative.
type Option struct {
	// Weight is its share of the choices, relative to the others; default 1.
	Weight int         `yaml:"weight"`
	Steps  []spec.Step `yaml:"steps"`
}

func (ch *Choose) check(c *spec.Checker) {
	if ch.Count == 0 {
		ch.Count = 1
	}
	if len(ch.Of) == 0 {
		c.Problem("of", "is empty: say what may be chosen")
	} else if ch.Count < 0 || ch.Count > len(ch.Of) {
		c.Problem("count", "%d of %d cannot be chosen", ch.Count, len(ch.Of))
	}
	for i := range ch.Of {
		o := &ch.Of[i]
		at := fmt.Sprintf("of[%d]", i)
		if o.Weight < 0 {
			c.Problem(at+".weight", "must not be negative: %d", o.Weight)
		}
		if o.Weight == 0 {
			o.Weight = 1
		}
		if len(o.Steps) == 0 {
			c.Problem(at+".steps", "is empty: say what to do")
		}
		c.Steps(at+".steps", o.Steps)
	}
}

func (ch *Choose) title() string { return fmt.Sprintf("choose %d of %d", ch.Count, len(ch.Of)) }

func (ch *Choose) steps() [][]spec.Step {
	var all [][]spec.Step
	for i := range ch.Of {
		all = append(all, ch.Of[i].Steps)
	}
	return all
}

// choose picks the options, and does them in the order of the file.
func (b *branch) choose(ctx context.Context, c *Choose) error {
	var chosen []int
	left := make([]int, len(c.Of))
	for i := range left {
		left[i] = i
	}
	for range c.Count {
		total := 0
		for _, i := range left {
			total += c.Of[i].Weight
		}
		n := b.random.IntN(total)
		for at, i := range left {
			if n -= c.Of[i].Weight; n < 0 {
				chosen = append(chosen, i)
				left = slices.Delete(left, at, at+1)
				break
			}
		}
	}
	slices.Sort(chosen)
	for _, i := range chosen {
		var titles []string
		titles = append(titles, spec.Titles(c.Of[i].Steps)...)
		b.note("chosen: %s", strings.Join(titles, ", "))
		if err := b.steps(ctx, c.Of[i].Steps); err != nil {
			return err
		}
	}
	return nil
}
