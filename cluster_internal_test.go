package minikcm

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A part that fails, or ends by itself, ends the cluster, which says why.
func TestFailureOfAPart(t *testing.T) {
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
			c, err := Start(t.Context(), Options{API: APIOptions{NoHTTPS: true}, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Err(); err != nil {
				t.Errorf("a cluster that runs has failed: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.runPart(ctx, part{"gardener", func(context.Context) error { return test.failure }})
			c.runPart(ctx, part{"cook", func(ctx context.Context) error { // ends only with its context
				<-ctx.Done()
				return errors.New("only the first failure counts")
			}})
			<-c.Done()
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the cluster says %v, want %q", err, test.want)
			}
			if test.failure != nil && !errors.Is(c.Err(), test.failure) {
				t.Errorf("the failure is not in the error: %v", c.Err())
			}
			cancel()
			if err := c.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}
