package rows

import (
	"os"
	"testing"

	genericfeatures "k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/features"
)

// gates are the feature gates that are on beyond upstream's defaults, of upstream and of minikcm.
var gates = []string{string(features.DRAResourcePoolStatus), string(features.DRAPartitionableDevicesType), string(genericfeatures.StorageVersionAPI)}

// TestMain configures upstream as minikcm: privileged containers are allowed, as in most clusters.
func TestMain(m *testing.M) {
	for _, gate := range gates {
		if err := feature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{gate: true}); err != nil {
			panic(err)
		}
	}
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	os.Exit(m.Run())
}
