package rows

import (
	"os"
	"testing"

	"k8s.io/kubernetes/pkg/capabilities"
)

// TestMain configures upstream as minikcm: privileged containers are allowed, as in most clusters.
// The feature gates have upstream's defaults.
func TestMain(m *testing.M) {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	os.Exit(m.Run())
}
