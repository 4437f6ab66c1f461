package minikcm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// release returns the release of Kubernetes whose API is served.
func (o *Options) release() (releases.Minor, error) {
	if o.API.Version == "" {
		return releases.Newest, nil
	}
	return releases.Parse(o.API.Version)
}

// serving returns which kinds and fields are served.
func (o *Options) serving() (apiserver.Serving, error) {
	release, err := o.release()
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--emulated-version: %w", err)
	}
	apis, err := featuregates.ParseRuntimeConfig(o.API.RuntimeConfig)
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--runtime-config: %w", err)
	}
	gates, err := featuregates.New(release, o.FeatureGates)
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--feature-gates: %w", err)
	}
	return apiserver.Serving{Gates: gates, APIs: apis}, nil
}

// ValidateServing checks the release, the feature gates and the API versions.
func (o *Options) ValidateServing() error {
	_, err := o.serving()
	return err
}

// gates returns the features that are on. Validate has checked the options.
func (o *Options) gates() featuregates.Gates {
	s, err := o.serving()
	if err != nil {
		return featuregates.Gates{}
	}
	return s.Gates
}

// resources returns the table of the kinds that are served. Validate has checked the options.
func (o *Options) resources() *apiserver.ResourceTable {
	s, err := o.serving()
	if err != nil {
		return apiserver.BuiltinResources()
	}
	return apiserver.ResourcesFor(s)
}

// kubernetesVersion returns the version of Kubernetes that the cluster shows.
func (o *Options) kubernetesVersion() string {
	if release, err := o.release(); err == nil && o.API.Version != "" {
		return release.Version()
	}
	return apiserver.DefaultVersion
}

// WithoutEffect returns the items of FeatureGates and RuntimeConfig that change nothing, each with the reason.
func (o *Options) WithoutEffect() []string {
	s, err := o.serving()
	if err != nil {
		return nil
	}
	var all []string
	for _, name := range s.Gates.Ineffective() {
		all = append(all, fmt.Sprintf("feature gate %s of Kubernetes has no effect in minikcm", name))
	}
	table := apiserver.ResourcesFor(s)
	for _, gv := range s.APIs.Versions() {
		if len(table.InVersion(gv)) == 0 {
			all = append(all, unserved(s, gv))
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(gatedKinds)) {
		kind := gatedKinds[gate]
		if o.FeatureGates[gate] && !s.APIs.Serves(s.Gates.Release(), kind) {
			all = append(all, fmt.Sprintf("--feature-gates=%s=true has no effect without --runtime-config=%s=true", gate, kind.GroupVersion()))
		}
	}
	return all
}

// unserved says why a version that is turned on serves nothing.
func unserved(s apiserver.Serving, gv schema.GroupVersion) string {
	on := s
	on.Gates = apiserver.AllFeatures().Gates
	var gates []string
	if s.Gates.Release() == releases.Newest {
		for _, row := range apiserver.ResourcesFor(on).InVersion(gv) {
			if gate := featuregates.GateOf(row.Group, row.Plural); gate != "" {
				gates = append(gates, gate+"=true")
			}
		}
	}
	if len(gates) > 0 {
		return fmt.Sprintf("--runtime-config=%s=true serves nothing without --feature-gates=%s", gv, strings.Join(gates, ","))
	}
	return fmt.Sprintf("--runtime-config: API version %s is not served in minikcm, or not as Kubernetes %s had it", gv, s.Gates.Release())
}
