package config

import (
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/scheduler/extender"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/internal/nesting"
)

const (
	// maxBytes limits the size of a file, before and after its aliases are expanded.
	maxBytes = 1 << 20
	// maxDepth limits the nesting of a document.
	maxDepth = 50
)

// kube-scheduler's defaults.
const (
	defaultBindTimeout   = 600 * time.Second
	defaultFilterTimeout = 10 * time.Second
	defaultDeviceTimeout = 600 * time.Second
)

// Config is the configuration of a scheduler.
type Config struct {
	// Profiles are the profiles by the name of the scheduler that pods ask for.
	Profiles map[string]*Profile
	// InitialBackoff and MaxBackoff limit the time that a pod waits between two attempts.
	InitialBackoff, MaxBackoff time.Duration
	// Extenders are asked in this order.
	Extenders []*extender.Extender
}

// Profile is one of the profiles of a scheduler.
type Profile struct {
	*plugins.Profile
	// BindTimeout is the time that the binding of a pod's volumes may take.
	BindTimeout time.Duration
	// FilterTimeout is the machine's time that one decision may take to look for devices; 0: no
	// limit.
	FilterTimeout time.Duration
	// DeviceTimeout is the time that the binding conditions of a pod's devices may take.
	DeviceTimeout time.Duration
}

// Default returns kube-scheduler's default configuration.
func Default() *Config {
	c, err := compile(&configv1.KubeSchedulerConfiguration{})
	if err != nil {
		panic(err) // the default configuration is valid: TestDefault
	}
	return c
}

// Read reads a file of at most 1 MiB. Its errors are for users.
func Read(path string) (*Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the scheduler's configuration: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the scheduler's configuration: %w", err)
	}
	c, err := Parse(content)
	if err != nil {
		return nil, fmt.Errorf("the scheduler's configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse compiles a KubeSchedulerConfiguration, in YAML or JSON.
func Parse(content []byte) (*Config, error) {
	c, err := decode(content)
	if err != nil {
		return nil, err
	}
	return compile(c)
}

// decode decodes a document of at most maxBytes. Unknown and repeated fields are errors.
func decode(content []byte) (*configv1.KubeSchedulerConfiguration, error) {
	if len(content) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("it is empty: it needs at least apiVersion: %s and kind: KubeSchedulerConfiguration", configv1.SchemeGroupVersion)
	}
	if err := nesting.YAML(content, maxDepth, maxBytes); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := configv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	decoded, err := runtime.Decode(codecs.UniversalDecoder(configv1.SchemeGroupVersion), content)
	if runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) {
		return nil, fmt.Errorf("%w: write apiVersion: %s and kind: KubeSchedulerConfiguration", err, configv1.SchemeGroupVersion)
	}
	if err != nil {
		return nil, err
	}
	c, ok := decoded.(*configv1.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("expected a KubeSchedulerConfiguration, got %T", decoded)
	}
	return c, nil
}

// compile validates a configuration, and fills in the defaults.
func compile(c *configv1.KubeSchedulerConfiguration) (*Config, error) {
	initial, longest := ptr.Deref(c.PodInitialBackoffSeconds, 1), ptr.Deref(c.PodMaxBackoffSeconds, 10)
	out := &Config{
		Profiles:       map[string]*Profile{},
		InitialBackoff: time.Duration(initial) * time.Second, MaxBackoff: time.Duration(longest) * time.Second,
	}
	errs := checkGlobal(c, initial, longest)
	asked, ignored, wrong := extenders(field.NewPath("extenders"), c.Extenders)
	out.Extenders, errs = asked, append(errs, wrong...)
	profiles := c.Profiles
	if len(profiles) == 0 {
		profiles = []configv1.KubeSchedulerProfile{{}}
	}
	first := map[string]*field.Path{}
	for i := range profiles {
		path := field.NewPath("profiles").Index(i)
		name := ptr.Deref(profiles[i].SchedulerName, "")
		switch {
		case profiles[i].SchedulerName == nil && len(profiles) == 1:
			name = corev1.DefaultSchedulerName
		case name == "":
			errs = append(errs, field.Required(path.Child("schedulerName"), "each profile needs the name that pods have in spec.schedulerName"))
			continue
		}
		if other := first[name]; other != nil {
			errs = append(errs, field.Duplicate(path.Child("schedulerName"), other.Child("schedulerName").String()))
			continue
		}
		first[name] = path
		p := profileParser{path: path, global: c, in: &profiles[i], ignored: ignored}
		out.Profiles[name] = p.parse()
		errs = append(errs, p.errs...)
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return out, nil
}

func checkGlobal(c *configv1.KubeSchedulerConfiguration, initial, longest int64) (errs field.ErrorList) {
	if n := ptr.Deref(c.Parallelism, 16); n <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("parallelism"), n, "should be an integer value greater than zero"))
	}
	errs = append(errs, checkPercentage(field.NewPath("percentageOfNodesToScore"), c.PercentageOfNodesToScore)...)
	const longestSeconds = int64(1<<63-1) / int64(time.Second)
	if initial <= 0 || initial > longestSeconds {
		errs = append(errs, field.Invalid(field.NewPath("podInitialBackoffSeconds"), initial, "must be greater than 0"))
	}
	if longest < initial || longest > longestSeconds {
		errs = append(errs, field.Invalid(field.NewPath("podMaxBackoffSeconds"), longest, "must be greater than or equal to podInitialBackoffSeconds"))
	}
	return errs
}

func checkPercentage(path *field.Path, percentage *int32) field.ErrorList {
	if percentage != nil && (*percentage < 0 || *percentage > 100) {
		return field.ErrorList{field.Invalid(path, *percentage, "not in valid range [0-100]")}
	}
	return nil
}
