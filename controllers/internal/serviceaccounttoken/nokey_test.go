package serviceaccounttoken_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/klog/v2/ktesting"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/serviceaccounttoken"
)

// TestWithoutKey checks that the controller logs the missing key once, and runs until it is
// stopped.
func TestWithoutKey(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	d := serviceaccounttoken.Descriptor()
	c, err := d.New(&env.Env{Logger: logger}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
	if log := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); !strings.Contains(log, "no key to sign tokens with") {
		t.Errorf("it logged %q", log)
	}
}
