package rows

import (
	"fmt"
	"os"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/capabilities"
)

// TestMain sets upstream up as minikcm's release is: privileged containers are allowed,
// as in most clusters, and what became a matter of course in that release is on.
func TestMain(m *testing.M) {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	err := utilfeature.DefaultMutableFeatureGate.Set("ClusterTrustBundle=true,ClusterTrustBundleProjection=true,PodCertificateRequest=true")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
