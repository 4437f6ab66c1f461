package minikcm

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/featuregates"
	"minikcm.dev/minikcm/internal/releases"
)

// release returns the release of Kubernetes whose API is served.
func (o *Options) release() (releases.Minor, error) {
	if o.EmulatedVersion == "" {
		return releases.Newest, nil
	}
	return releases.Parse(o.EmulatedVersion)
}

// serving returns which kinds and fields are served.
func (o *Options) serving() (apiserver.Serving, error) {
	release, err := o.release()
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--emulated-version: %w", err)
	}
	apis, err := featuregates.ParseRuntimeConfig(o.RuntimeConfig)
	if err != nil {
		return apiserver.Serving{}, fmt.Errorf("--runtime-config: %w", err)
	}
	set := map[string]bool{}
	for _, f := range []struct {
		gate    string
		on      bool
		version string
	}{
		{featuregates.GenericWorkload, o.GenericWorkload, "scheduling.k8s.io/v1beta1"},
		{featuregates.DRAResourcePoolStatus, o.DRAResourcePoolStatus, "resource.k8s.io/v1alpha3"},
		{featuregates.DRAPartitionableDevicesType, o.DRAPartitionableDevicesType, ""},
		{featuregates.StorageVersionAPI, o.StorageVersionAPI, "internal.apiserver.k8s.io/v1alpha1"},
		{featuregates.APIServerIdentity, o.APIServerIdentity || o.StorageVersionAPI, ""},
	} {
		if !f.on {
			continue
		}
		set[f.gate] = true
		if f.version != "" {
			apis = apis.With(f.version)
		}
	}
	for name, on := range o.FeatureGates {
		set[name] = on
	}
	gates, err := featuregates.New(release, set)
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
	if release, err := o.release(); err == nil && o.EmulatedVersion != "" {
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
	for _, needs := range []struct{ gate, group, version, resource string }{
		{featuregates.GenericWorkload, "scheduling.k8s.io", "v1beta1", "podgroups"},
		{featuregates.DRAResourcePoolStatus, "resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests"},
		{featuregates.StorageVersionAPI, "internal.apiserver.k8s.io", "v1alpha1", "storageversions"},
	} {
		gvr := schema.GroupVersionResource{Group: needs.group, Version: needs.version, Resource: needs.resource}
		if o.FeatureGates[needs.gate] && !s.APIs.Serves(s.Gates.Release(), gvr) {
			all = append(all, fmt.Sprintf("--feature-gates=%s=true has no effect without --runtime-config=%s=true", needs.gate, gvr.GroupVersion()))
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
