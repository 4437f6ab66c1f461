package linearizability

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

// TestMain discards the log of client-go, which reports the requests that faults break off.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
