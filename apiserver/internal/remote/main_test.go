package remote

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// A SPDY connection lingers for a second if its client has closed it first.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}
