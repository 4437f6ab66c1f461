package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"minikcm.dev/minikcm/scenarios/format"
)

// Choose does one of several, as the seed decides.
type Choose struct {
	// Count is how many of them, each once; default 1.
	Count int      `yaml:"count"`
	Of    []Option `yaml:"of"`
}

// Option is what may be chosen.
type Option struct {
	// Weight is how often compared with the others; default 1.
	Weight int           `yaml:"weight"`
	Steps  []format.Step `yaml:"steps"`
}

func (ch *Choose) check(c *format.Checker) {
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

func (ch *Choose) steps() [][]format.Step {
	var all [][]format.Step
	for i := range ch.Of {
		all = append(all, ch.Of[i].Steps)
	}
	return all
}

// choose does some of several, as the seed says, in the order in which they stand.
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
		for j := range c.Of[i].Steps {
			titles = append(titles, c.Of[i].Steps[j].Title())
		}
		b.note("chosen: %s", strings.Join(titles, ", "))
		if err := b.steps(ctx, c.Of[i].Steps); err != nil {
			return err
		}
	}
	return nil
}
