package featuregates

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/releases"
)

// resourceGates are the gates of resources and subresources, by group and name.
var resourceGates = map[string]string{
	"/pods/resize": "InPlacePodVerticalScaling",
	"certificates.k8s.io/clustertrustbundles":          "ClusterTrustBundle",
	"certificates.k8s.io/podcertificaterequests":       "PodCertificateRequest",
	"internal.apiserver.k8s.io/storageversions":        StorageVersionAPI,
	"resource.k8s.io/resourcepoolstatusrequests":       DRAResourcePoolStatus,
	"scheduling.k8s.io/podgroups":                      GenericWorkload,
	"scheduling.k8s.io/workloads":                      GenericWorkload,
	"storagemigration.k8s.io/storageversionmigrations": "StorageVersionMigrator",
}

// Serves reports whether the gate of a resource, or of a subresource such as pods/resize, is on.
func (g Gates) Serves(group, resource string) bool {
	gate, ok := resourceGates[group+"/"+resource]
	return !ok || g.Enabled(gate)
}

// GateOf returns the gate of a resource; "" if it has none.
func GateOf(group, resource string) string { return resourceGates[group+"/"+resource] }

// RuntimeConfig is which API versions and resources are served beyond the default, or not.
type RuntimeConfig struct{ set map[string]bool }

// Serving returns a configuration that serves versions such as scheduling.k8s.io/v1beta1, and resources.
func Serving(items ...string) RuntimeConfig {
	c := RuntimeConfig{set: map[string]bool{}}
	for _, v := range items {
		c.set[v] = true
	}
	return c
}

// stage is a key of --runtime-config for many versions, and the form of these.
type stage struct {
	key  string
	form *regexp.Regexp
}

var stages = []stage{
	{"api/all", regexp.MustCompile(`^v[0-9].*$`)},
	{"api/ga", regexp.MustCompile(`^v[0-9]+$`)},
	{"api/beta", regexp.MustCompile(`^v[0-9]+beta[0-9]+$`)},
	{"api/alpha", regexp.MustCompile(`^v[0-9]+alpha[0-9]+$`)},
}

// ParseRuntimeConfig reads the items of the flag --runtime-config: api/all, api/ga, api/beta or api/alpha, a
// version such as batch/v1, or a resource such as batch/v1/jobs, each with =true or =false. A name without
// a value is on.
func ParseRuntimeConfig(items []string) (RuntimeConfig, error) {
	c := RuntimeConfig{set: map[string]bool{}}
	for name, value := range pairs(items) {
		if name == "" {
			continue
		}
		on := true
		if value != "" {
			var err error
			if on, err = strconv.ParseBool(value); err != nil {
				return c, fmt.Errorf("%s must be true or false, not %q", name, value)
			}
		}
		if name == "api/v1" || name == "api/legacy" {
			name = "v1"
		}
		parts := strings.Split(name, "/")
		isStage := slices.ContainsFunc(stages, func(s stage) bool { return s.key == name })
		if !isStage && (len(parts) > 3 || len(parts) == 1 && name != "v1" || len(parts) > 1 && !stages[0].form.MatchString(parts[1])) {
			return c, fmt.Errorf("%s must be an API version such as batch/v1, a resource such as batch/v1/jobs, or api/all, api/ga, api/beta or api/alpha", name)
		}
		c.set[name] = on
	}
	return c, nil
}

// Versions returns the versions that are turned on one by one.
func (c RuntimeConfig) Versions() []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		if !c.set[name] || strings.HasPrefix(name, "api/") || strings.Count(name, "/") > 1 {
			continue
		}
		if gv, err := schema.ParseGroupVersion(name); err == nil {
			versions = append(versions, gv)
		}
	}
	return versions
}

// Serves reports whether a resource of a version is served in a release, as far as it is not a matter of
// gates.
func (c RuntimeConfig) Serves(release releases.Minor, gvr schema.GroupVersionResource) bool {
	version := gvr.GroupVersion().String()
	if on, ok := c.set[version+"/"+gvr.Resource]; ok {
		return on
	}
	if on, ok := c.set[version]; ok {
		return on
	}
	served := onByDefault(release, gvr)
	for _, s := range stages {
		if on, ok := c.set[s.key]; ok && s.form.MatchString(gvr.Version) {
			served = on
		}
	}
	return served
}

// onByDefault reports whether upstream serves a resource without being asked to: stable versions, and the
// last beta versions of a time when these were on.
func onByDefault(release releases.Minor, gvr schema.GroupVersionResource) bool {
	return stages[1].form.MatchString(gvr.Version) || gvr.Group == "flowcontrol.apiserver.k8s.io" && gvr.Version == "v1beta3" && release <= 31
}
