package admission

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// decodeConfig reads a plugin's configuration of one version, strictly. An empty document
// leaves into unchanged.
func decodeConfig(data []byte, version, kind string, into any) error {
	if len(data) == 0 {
		return nil
	}
	var has struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(data, &has); err != nil {
		return err
	}
	if has.APIVersion != version || has.Kind != kind {
		return fmt.Errorf("its apiVersion and kind are %q and %q: they must be %s and %s", has.APIVersion, has.Kind, version, kind)
	}
	return yaml.UnmarshalStrict(data, into)
}

// decodeUnversioned reads a plugin's configuration that has no version.
func decodeUnversioned(data []byte, into any) error { return yaml.UnmarshalStrict(data, into) }
