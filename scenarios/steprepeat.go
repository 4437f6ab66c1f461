package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
)

// Repeat does steps again and again.
type Repeat struct {
	// Times is how often, or with Until at most.
	Times int `yaml:"times"`
	// Until ends the repetition as soon as it holds, looked at before each turn.
	Until *format.Expect `yaml:"until"`
	// Every is how much time lies between the beginnings of two turns.
	Every format.Duration `yaml:"every"`
	// Var is a variable that tells which turn it is, from 0.
	Var   string      `yaml:"var"`
	Steps format.Body `yaml:"steps"`
}

func (r *Repeat) check(c *format.Checker) {
	if r.Times <= 0 {
		c.Problem("times", "must be 1 or more: how often, or with until how often at most")
	}
	if r.Var != "" && !format.IsVariableName(r.Var) {
		c.Problem("var", "%q is not a variable's name", r.Var)
	}
	if r.Until != nil {
		if r.Until.Within != 0 {
			c.Problem("until.within", "has no meaning here: it is looked at before each turn")
		}
		c.Expect("until", r.Until)
	}
	vars := map[string]string{}
	if r.Var != "" {
		vars[r.Var] = "0"
	}
	c.Body("steps", &r.Steps, vars)
}

func (r *Repeat) title() string {
	if r.Until != nil {
		return fmt.Sprintf("repeat up to %d times until %s", r.Times, r.Until.Title())
	}
	return fmt.Sprintf("repeat %d times", r.Times)
}

func (r *Repeat) steps() [][]format.Step { return [][]format.Step{r.Steps.Steps} }

// least is that of all turns, unless the repetition may end early.
func (r *Repeat) least() time.Duration {
	if r.Until != nil {
		return 0
	}
	turn := format.LeastTime(r.Steps.Steps)
	return time.Duration(r.Times-1)*max(turn, time.Duration(r.Every)) + turn
}

// repeat looks whether it is enough before each turn, and after the last.
func (b *branch) repeat(ctx context.Context, r *Repeat) error {
	ctx, over := b.repeating(ctx)
	defer over()
	var missing error
	for turn := 0; ; turn++ {
		begun := b.run.clock.Now()
		if r.Until != nil {
			missing = b.expect(ctx, r.Until)
			if missing == nil {
				b.note("it held after %d turns", turn)
				return nil
			}
			if !check.IsDiffers(missing) {
				return missing
			}
		}
		if turn == r.Times {
			break
		}
		if err := b.turn(ctx, r, turn); err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		if rest := time.Duration(r.Every) - b.run.clock.Since(begun); rest > 0 && (turn+1 < r.Times || r.Until != nil) {
			if err := b.sleep(ctx, rest); err != nil {
				return err
			}
		}
	}
	if missing != nil {
		return fmt.Errorf("not after %d turns: %w", r.Times, missing)
	}
	return nil
}

// toldTurns are of how many turns of a repetition each step is recorded: the memory of a
// run is bounded however long it takes.
const toldTurns = 100

func (b *branch) turn(ctx context.Context, r *Repeat, turn int) error {
	if turn >= toldTurns && !b.quiet {
		if turn == toldTurns {
			b.note("what the turns after the first %d do is not told", toldTurns)
		}
		b.quiet = true
		defer func() { b.quiet = false }()
	}
	steps := r.Steps.Steps
	if r.Var != "" {
		var err error
		if steps, err = r.Steps.With(map[string]string{r.Var: strconv.Itoa(turn)}); err != nil {
			return err
		}
	}
	return b.steps(ctx, steps)
}
