package noderoute

import (
	"strings"
	"testing"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"no cloud":      {Options{Allocate: true, Routes: true}, "there is no cloud"},
		"no networks":   {Options{Cloud: true, Routes: true}, "--allocate-node-cidrs is off"},
		"no routes":     {Options{Cloud: true, Allocate: true}, "--configure-cloud-routes is off"},
		"it works":      {Options{Cloud: true, Allocate: true, Routes: true}, ""},
		"nothing is on": {Options{}, "there is no cloud"},
	} {
		if got := tt.options.idle(); !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
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
		o := Options{ClusterCIDR: text}
		if _, err := o.clusters(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("--cluster-cidr=%q: %v, want %q", text, err, want)
		}
	}
}
