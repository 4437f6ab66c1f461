package noderoute

import (
	"strings"
	"testing"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/internal/simulatedcloud"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cloud, allocate, routes bool
		want                    string
	}{
		"no cloud":      {false, true, true, "there is no cloud"},
		"no networks":   {true, false, true, "--allocate-node-cidrs is off"},
		"no routes":     {true, true, false, "--configure-cloud-routes is off"},
		"it works":      {true, true, true, ""},
		"nothing is on": {false, false, false, "there is no cloud"},
	} {
		s := &controller.Settings{}
		if tt.cloud {
			s.KubeCloudShared.CloudProvider.Name = simulatedcloud.Provider
		}
		s.KubeCloudShared.AllocateNodeCIDRs, s.KubeCloudShared.ConfigureCloudRoutes = tt.allocate, &tt.routes
		if got := idle(nil, s); !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestClusters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.0/16":                "",
		"10.0.0.0/16, fd00::/48":     "",
		"":                           "needs --cluster-cidr",
		"10.0.0.0":                   "--cluster-cidr",
		"10.0.0.0/16,10.1.0.0/16":    "one of each IP family",
		"10.0.0.0/16,fd00::/48,::/0": "one of each IP family",
	} {
		if _, err := clusters(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("--cluster-cidr=%q: %v, want %q", text, err, want)
		}
	}
}
