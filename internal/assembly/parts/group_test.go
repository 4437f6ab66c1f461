package parts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A part that fails, or ends by itself, ends the group, which says why.
func TestGroup(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		failure error
		want    string
	}{
		"error":          {boom, "the gardener failed: boom"},
		"ends by itself": {nil, "the gardener failed: it stopped unexpectedly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewGroup()
			if err := g.Err(); err != nil {
				t.Errorf("a group that runs has failed: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g.run(ctx, part{"gardener", func(context.Context) error { return test.failure }})
			g.run(ctx, part{"cook", func(ctx context.Context) error { // ends only with its context
				<-ctx.Done()
				return errors.New("only the first failure counts")
			}})
			<-g.Done()
			if err := g.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the group says %v, want %q", err, test.want)
			}
			if test.failure != nil && !errors.Is(g.Err(), test.failure) {
				t.Errorf("the failure is not in the error: %v", g.Err())
			}
			cancel()
			g.running.Wait()
			g.End(nil) // keeps the failure
			if g.Err() == nil {
				t.Error("the failure is forgotten")
			}
		})
	}
}
