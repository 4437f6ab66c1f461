package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Repeat does steps again and again.
type Repeat struct {
	// Times is the number of turns, or with Until the largest number.
	Times int `yaml:"times"`
	// Until ends the repetition as soon as it holds. It is evaluated before each turn.
	Until *spec.Expect `yaml:"until"`
	// Every is the time between the beginnings of two turns.
	Every spec.Duration `yaml:"every"`
	// Var is a variable with the number of the turn, from 0.
	Var   string    `yaml:"var"`
	Steps spec.Body `yaml:"steps"`
}

func (r *Repeat) check(c *spec.Checker) {
	if r.Times <= 0 {
		c.Problem("times", "must be 1 or more: how often, or with until how often at most")
	}
	if r.Var != "" && !spec.IsVariableName(r.Var) {
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

func (r *Repeat) steps() [][]spec.Step { return [][]spec.Step{r.Steps.Steps} }

// least returns the least time of all turns; 0 if Until may end the repetition early.
func (r *Repeat) least() time.Duration {
	if r.Until != nil {
		return 0
	}
	turn := spec.LeastTime(r.Steps.Steps)
	return time.Duration(r.Times-1)*max(turn, time.Duration(r.Every)) + turn
}

// repeat evaluates Until before each turn, and after the last.
func (b *branch) repeat(ctx context.Context, r *Repeat) error {
	ctx, over := b.repeating(ctx)
	defer over()
	var missing error
	for turn := 0; ; turn++ {
		begun := b.run.clock.Now()
		if r.Until != nil {
			missing = b.expectWithin(ctx, r.Until, 0)
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

// recordedTurns caps the turns of a repetition whose steps are recorded, which bounds the
// memory of a run.
const recordedTurns = 100

func (b *branch) turn(ctx context.Context, r *Repeat, turn int) error {
	if turn >= recordedTurns && !b.quiet {
		if turn == recordedTurns {
			b.note("the turns after the first %d are not recorded", recordedTurns)
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
