package signing_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"

	"minikcm.dev/minikcm/controllers/internal/certificates/signing"
	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
)

// TestWithoutKey checks that the controller logs the missing key once, and runs until it is
// stopped.
func TestWithoutKey(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	d := signing.Descriptor()
	c, err := d.New(&env.Env{Logger: logger}, &controller.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
	if log := logger.GetSink().(ktesting.Underlier).GetBuffer().String(); !strings.Contains(log, "no authority's key to sign certificates with") {
		t.Errorf("it logged %q", log)
	}
}

// TestKeysThatCannotBeUsed names files that do not exist.
func TestKeysThatCannotBeUsed(t *testing.T) {
	s := &controller.Settings{}
	s.CSRSigningController.ClusterSigningCertFile, s.CSRSigningController.ClusterSigningKeyFile = "none.crt", "none.key"
	d := signing.Descriptor()
	_, err := d.New(&env.Env{Config: &rest.Config{}}, s)
	if err == nil || !strings.Contains(err.Error(), "reading the authority that signs certificates: open none.crt") {
		t.Errorf("%v", err)
	}
}
