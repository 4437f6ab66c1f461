package imagepolicy

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// config is the section imagePolicy of a configuration.
type config struct {
	// kubeconfig is the path of a kubeconfig whose cluster is the webhook.
	kubeconfig string
	// allowTTL and denyTTL are for how long an answer is used again; 0: not at all.
	allowTTL, denyTTL time.Duration
	// backoff is the delay before the first repetition of a failed call.
	backoff time.Duration
	// defaultAllow admits pods while the webhook fails.
	defaultAllow bool
}

// bounds are the unit, the limits and the default of a duration in the configuration, all
// of them upstream's.
type bounds struct {
	field                       string
	unit, least, most, normally time.Duration
}

// disabled in the configuration stands for no duration, and 0 for the default.
const disabled = -1

// duration returns the duration of a number in the configuration.
func (b bounds) duration(number int64) (time.Duration, error) {
	switch {
	case number == disabled:
		return 0, nil
	case number == 0:
		return b.normally, nil
	case number < 0 || number > int64(b.most/b.unit) || time.Duration(number)*b.unit < b.least:
		return 0, fmt.Errorf("imagePolicy.%s is %d, in units of %v: valid value is between %v and %v", b.field, number, b.unit, b.least, b.most)
	}
	return time.Duration(number) * b.unit, nil
}

// parse reads a configuration in YAML or JSON. As upstream, unknown fields are ignored.
func parse(data []byte) (config, error) {
	if len(data) == 0 {
		return config{}, errors.New("no config specified")
	}
	var file struct {
		ImagePolicy struct {
			KubeConfigFile string `json:"kubeConfigFile"`
			AllowTTL       int64  `json:"allowTTL"`
			DenyTTL        int64  `json:"denyTTL"`
			RetryBackoff   int64  `json:"retryBackoff"`
			DefaultAllow   bool   `json:"defaultAllow"`
		} `json:"imagePolicy"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return config{}, err
	}
	has := file.ImagePolicy
	read := config{kubeconfig: has.KubeConfigFile, defaultAllow: has.DefaultAllow}
	for _, field := range []struct {
		into   *time.Duration
		number int64
		bounds bounds
	}{
		{&read.backoff, has.RetryBackoff, bounds{"retryBackoff", time.Millisecond, time.Nanosecond, 5 * time.Minute, 500 * time.Millisecond}},
		{&read.allowTTL, has.AllowTTL, bounds{"allowTTL", time.Second, time.Second, 30 * time.Minute, 5 * time.Minute}},
		{&read.denyTTL, has.DenyTTL, bounds{"denyTTL", time.Second, time.Second, 30 * time.Minute, 30 * time.Second}},
	} {
		var err error
		if *field.into, err = field.bounds.duration(field.number); err != nil {
			return config{}, err
		}
	}
	return read, nil
}
