package capacity

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// schedulerConfig returns the file of the scheduler's configuration in the fork: Options.SchedulerConfig, or
// a temporary one in which no profile preempts. remove deletes that.
func (o *Options) schedulerConfig() (path string, remove func() error, err error) {
	remove = func() error { return nil }
	if !o.NoPreemption {
		return o.SchedulerConfig, remove, nil
	}
	content := []byte("{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}")
	if o.SchedulerConfig != "" {
		if content, err = os.ReadFile(o.SchedulerConfig); err != nil {
			return "", nil, input("reading the scheduler's configuration: %w", err)
		}
	}
	if content, err = withoutPreemption(content); err != nil {
		return "", nil, input("the scheduler's configuration %s: %w", o.SchedulerConfig, err)
	}
	file, err := os.CreateTemp("", "minikcm-scheduler-*.yaml")
	if err != nil {
		return "", nil, fmt.Errorf("writing the scheduler's configuration: %w", err)
	}
	remove = func() error { return os.Remove(file.Name()) }
	if _, err = file.Write(content); err == nil {
		err = file.Close()
	}
	return file.Name(), remove, err
}

// withoutPreemption disables the preemption of every profile of a KubeSchedulerConfiguration.
func withoutPreemption(content []byte) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal(content, &config); err != nil {
		return nil, err
	}
	profiles, _ := config["profiles"].([]any)
	if len(profiles) == 0 {
		profiles = []any{map[string]any{"schedulerName": "default-scheduler"}}
	}
	for _, profile := range profiles {
		fields, ok := profile.(map[string]any)
		if !ok {
			continue // the scheduler will refuse it
		}
		plugins, _ := fields["plugins"].(map[string]any)
		if plugins == nil {
			plugins = map[string]any{}
		}
		point, _ := plugins["postFilter"].(map[string]any)
		if point == nil {
			point = map[string]any{}
		}
		disabled, _ := point["disabled"].([]any)
		point["disabled"] = append(disabled, map[string]any{"name": "DefaultPreemption"})
		plugins["postFilter"], fields["plugins"] = point, plugins
	}
	config["profiles"] = profiles
	return yaml.Marshal(config)
}
