package rows

import (
	"fmt"
	"os"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/capabilities"
)

// TestMain configures upstream as minikcm's release: privileged containers are allowed, as in
// most clusters, and the feature gates that graduated in that release are on.
func TestMain(m *testing.M) {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	err := utilfeature.DefaultMutableFeatureGate.Set("ClusterTrustBundle=true,ClusterTrustBundleProjection=true,PodCertificateRequest=true")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
