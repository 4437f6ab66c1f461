package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Options select and configure the admission plugins, as the flags of
// kube-apiserver do. The zero value runs the plugins that are on by default.
type Options struct {
	// Enable and Disable name plugins (--enable-admission-plugins,
	// --disable-admission-plugins).
	Enable, Disable []string
	// ConfigFile is the path of an AdmissionConfiguration (apiserver.config.k8s.io/v1), which
	// has the configurations of plugins or the paths of their files, relative to its own
	// (--admission-control-config-file). Empty: no plugin is configured.
	ConfigFile string
}

// Check returns an error for plugins that do not exist, for plugins that are both enabled and
// disabled, and for a file that cannot be read.
func (o Options) Check() error {
	var errs []error
	named := func(flag string, names []string) {
		for _, name := range names {
			if pluginOf(name) == nil {
				errs = append(errs, fmt.Errorf("%s plugin %q is unknown", flag, name))
			}
		}
	}
	named("enable-admission-plugins", o.Enable)
	named("disable-admission-plugins", o.Disable)
	var both []string
	for _, name := range o.Enable {
		if slices.Contains(o.Disable, name) && !slices.Contains(both, name) {
			both = append(both, name)
		}
	}
	if len(both) > 0 {
		slices.Sort(both)
		errs = append(errs, fmt.Errorf("%v in enable-admission-plugins and disable-admission-plugins overlapped", both))
	}
	if _, err := o.readConfig(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// enables reports whether a plugin runs.
func (o Options) enables(row Plugin) bool {
	return slices.Contains(o.Enable, row.Name) || row.Default && !slices.Contains(o.Disable, row.Name)
}

func pluginOf(name string) *Plugin {
	rows := Table()
	i := slices.IndexFunc(rows, func(row Plugin) bool { return row.Name == name })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

// configuration is the content of Options.ConfigFile.
type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Plugins    []struct {
		Name          string          `json:"name"`
		Path          string          `json:"path"`
		Configuration json.RawMessage `json:"configuration"`
	} `json:"plugins"`
}

// readConfig returns the configurations of plugins by their names.
func (o Options) readConfig() (map[string][]byte, error) {
	if o.ConfigFile == "" {
		return nil, nil
	}
	configs, err := readFile(o.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("reading the admission control configuration %s: %w", o.ConfigFile, err)
	}
	return configs, nil
}

func readFile(path string) (map[string][]byte, error) {
	data, err := readLimited(path)
	if err != nil {
		return nil, err
	}
	var has struct {
		APIVersion      string          `json:"apiVersion"`
		Kind            string          `json:"kind"`
		PodNodeSelector json.RawMessage `json:"podNodeSelectorPluginConfig"`
		ImagePolicy     json.RawMessage `json:"imagePolicy"`
	}
	if err := yaml.Unmarshal(data, &has); err != nil {
		return nil, err
	}
	if has.APIVersion == "" && len(has.PodNodeSelector)+len(has.ImagePolicy) > 0 {
		return map[string][]byte{"PodNodeSelector": data, "ImagePolicyWebhook": data}, nil // upstream's old form of the file
	}
	if has.Kind != "AdmissionConfiguration" || has.APIVersion != "apiserver.config.k8s.io/v1" && has.APIVersion != "apiserver.k8s.io/v1alpha1" {
		return nil, fmt.Errorf("its apiVersion and kind are %q and %q: they must be apiserver.config.k8s.io/v1 and AdmissionConfiguration", has.APIVersion, has.Kind)
	}
	var parsed configuration
	if err := yaml.UnmarshalStrict(data, &parsed); err != nil {
		return nil, err
	}
	configs := map[string][]byte{}
	for _, plugin := range parsed.Plugins {
		if _, dup := configs[plugin.Name]; dup {
			continue // as upstream, the first one counts
		}
		switch {
		case pluginOf(plugin.Name) == nil:
			return nil, fmt.Errorf("plugin %q is unknown", plugin.Name)
		case len(plugin.Configuration) > 0 && string(plugin.Configuration) != "null":
			configs[plugin.Name] = plugin.Configuration
		case plugin.Path != "":
			file := plugin.Path
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(path), file)
			}
			if configs[plugin.Name], err = readLimited(file); err != nil {
				return nil, fmt.Errorf("the configuration of plugin %s: %w", plugin.Name, err)
			}
		}
	}
	return configs, nil
}

// maxConfigBytes limits a configuration file.
const maxConfigBytes = 4 << 20

func readLimited(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfigBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxConfigBytes)
	}
	return data, nil
}
