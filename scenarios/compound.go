package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/scenarios/check"
	"minikcm.dev/minikcm/scenarios/format"
)

// parallel does all at once, and returns when all have ended. The first that fails ends
// the others.
func (b *branch) parallel(ctx context.Context, steps []format.Step) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	left := len(steps)
	children := make([]*branch, len(steps))
	for i := range steps {
		children[i] = b.run.branch(b.random.Fork())
		children[i].span, children[i].quiet, children[i].repeats, children[i].background = b.span, b.quiet, b.repeats, b.background
	}
	var failure error
	var all sync.WaitGroup
	for i, child := range children {
		all.Go(func() {
			defer child.leave()
			err := child.Yield(ctx)
			if err == nil {
				err = child.step(ctx, &steps[i])
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failure == nil {
				failure = fmt.Errorf("%s: %w", steps[i].Title(), err)
				cancel()
			}
			left--
			if left == 0 {
				b.Raise()
			}
		})
	}
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	}
	// The children see the end of ctx themselves; they are waited for all the same.
	for !over() {
		if b.Wait(context.WithoutCancel(ctx)) != nil {
			break // it never ends
		}
	}
	all.Wait()
	for _, child := range children {
		b.notes = append(b.notes, child.notes...)
	}
	return failure
}

// repeat looks whether it is enough before each turn, and after the last.
func (b *branch) repeat(ctx context.Context, r *format.Repeat) error {
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

func (b *branch) turn(ctx context.Context, r *format.Repeat, turn int) error {
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

func (b *branch) forEach(ctx context.Context, f *format.ForEach) error {
	values := f.In
	if f.Target != "" {
		q, _, err := b.run.kinds.Target(f.Target, f.Namespace)
		if err != nil {
			return err
		}
		list, err := b.run.dynamic.Resource(q.Resource).Namespace(q.Namespace).List(ctx, metav1.ListOptions{LabelSelector: f.Selector})
		if err != nil {
			return fmt.Errorf("listing %s: %w", f.Target, err)
		}
		values = nil
		for i := range list.Items {
			values = append(values, list.Items[i].GetName())
		}
		slices.Sort(values)
	}
	for _, value := range values {
		steps, err := f.Steps.With(map[string]string{f.Var: value})
		if err != nil {
			return err
		}
		if err := b.steps(ctx, steps); err != nil {
			return fmt.Errorf("for %s: %w", value, err)
		}
	}
	return nil
}

// choose does some of several, as the seed says, in the order in which they stand.
func (b *branch) choose(ctx context.Context, c *format.Choose) error {
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

// sleep lets so much of the cluster's time pass.
func (b *branch) sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	timer := b.run.clock.AfterFunc(d, func() {
		close(over)
		b.Raise()
	})
	defer timer.Stop()
	for {
		select {
		case <-over:
			return nil
		default:
		}
		if err := b.Wait(ctx); err != nil {
			return err
		}
	}
}
