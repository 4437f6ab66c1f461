package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestDefault(t *testing.T) {
	for name, c := range map[string]*Config{"none": Default(), "an empty one": mustParse(t, header)} {
		p := c.Profiles["default-scheduler"]
		if len(c.Profiles) != 1 || p == nil || p.BindTimeout != 10*time.Minute || p.DeviceTimeout != 10*time.Minute || c.InitialBackoff != time.Second || c.MaxBackoff != 10*time.Second {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func mustParse(t *testing.T, content string) *Config {
	t.Helper()
	c, err := Parse([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// specOf returns the compiled profile of a configuration with one profile.
func specOf(t *testing.T, profile string) plugins.ProfileSpec {
	t.Helper()
	c, err := decode([]byte(header + "profiles:\n- " + strings.ReplaceAll(strings.TrimSpace(profile), "\n", "\n  ") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := profileParser{global: c, in: &c.Profiles[0]}
	p.parse()
	if len(p.errs) > 0 {
		t.Fatal(p.errs.ToAggregate())
	}
	return p.spec
}

func names(scores []plugins.WeightedPlugin) string {
	var all []string
	for _, s := range scores {
		all = append(all, s.Name+"="+string(rune('0'+s.Weight)))
	}
	return strings.Join(all, " ")
}

func TestPlugins(t *testing.T) {
	const rest = "PodTopologySpread=2 InterPodAffinity=2 NodeResourcesBalancedAllocation=1 ImageLocality=1"
	tests := []struct {
		name    string
		profile string
		scores  string
		filters string
		no      string // a filter that is not there
	}{
		{name: "none", profile: "schedulerName: a", scores: "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1"},
		{
			name:    "a score is disabled",
			profile: "plugins:\n  score:\n    disabled: [{name: NodeResourcesFit}, {name: VolumeBinding}, {name: DynamicResources}]",
			scores:  "TaintToleration=3 NodeAffinity=2 " + rest,
		},
		{
			name:    "another weight comes first",
			profile: "plugins:\n  score:\n    disabled: [{name: VolumeBinding}, {name: DynamicResources}]\n    enabled: [{name: NodeResourcesFit, weight: 5}]",
			scores:  "NodeResourcesFit=5 TaintToleration=3 NodeAffinity=2 " + rest,
		},
		{
			name:    "weights by multiPoint, in place; 0 is 1",
			profile: "plugins:\n  multiPoint:\n    disabled: [{name: VolumeBinding}, {name: DynamicResources}]\n    enabled: [{name: NodeResourcesFit, weight: 7}, {name: TaintToleration}]",
			scores:  "TaintToleration=1 NodeAffinity=2 NodeResourcesFit=7 " + rest, no: plugins.VolumeBinding,
		},
		{
			name: "nothing but what is named",
			profile: "plugins:\n  multiPoint:\n    disabled: [{name: '*'}]\n    enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: SchedulingGates}, {name: NodeName}]\n" +
				"  score:\n    enabled: [{name: ImageLocality, weight: 2}]",
			scores: "ImageLocality=2", filters: "NodeName", no: plugins.NodeResourcesFit,
		},
		{name: "a filter is disabled", profile: "plugins:\n  filter:\n    disabled: [{name: NodeResourcesFit}]\n  score:\n    disabled: [{name: '*'}]", no: plugins.NodeResourcesFit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := specOf(t, tt.profile)
			if tt.name == "none" {
				spec = specOf(t, "schedulerName: a\nplugins: {}")
			}
			if got := names(spec.Scores); got != tt.scores {
				t.Errorf("scores %s, want %s", got, tt.scores)
			}
			got := strings.Join(spec.Filters, " ")
			if tt.filters != "" && got != tt.filters || tt.no != "" && strings.Contains(got, tt.no) {
				t.Errorf("filters %s, want %q without %q", got, tt.filters, tt.no)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"empty", "", "it is empty"},
		{"another version", "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n", "write apiVersion: kubescheduler.config.k8s.io/v1"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", "write apiVersion: kubescheduler.config.k8s.io/v1"},
		{"unknown field", header + "profile: []\n", `unknown field "profile"`},
		{"repeated field", header + "parallelism: 1\nparallelism: 2\n", "already set"},
		{"unknown argument", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {x: 1}}]}]\n", `unknown field "x"`},
		{"two profiles of a name", header + "profiles: [{schedulerName: a}, {schedulerName: a}]\n", `profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"`},
		{"a profile without a name", header + "profiles: [{schedulerName: a}, {}]\n", "profiles[1].schedulerName: Required value"},
		{"unknown plugin", header + "profiles: [{plugins: {score: {enabled: [{name: Fit}]}}}]\n", `profiles[0].plugins.score.enabled[0].name: Unsupported value: "Fit"`},
		{"unknown disabled plugin", header + "profiles: [{plugins: {multiPoint: {disabled: [{name: Fit}]}}}]\n", `profiles[0].plugins.multiPoint.disabled[0].name: Unsupported value: "Fit"`},
		{"a plugin elsewhere", header + "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]\n", "plugin does not extend score plugin"},
		{"a plugin twice", header + "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}}}]\n", "profiles[0].plugins.score.enabled[1].name: Duplicate value"},
		{"negative weight", header + "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: -1}]}}}]\n", "profiles[0].plugins.score.enabled[0].weight: Invalid value: -1"},
		{"no binder", header + "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]\n", "enable DefaultBinder"},
		{"half a plugin", header + "profiles: [{plugins: {preFilter: {disabled: [{name: NodeResourcesFit}]}}}]\n", "profiles[0].plugins.preFilter: Invalid value: \"NodeResourcesFit\""},
		{"percentage", header + "percentageOfNodesToScore: 101\n", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
		{"parallelism", header + "parallelism: 0\n", "parallelism: Invalid value: 0"},
		{"back-off", header + "podInitialBackoffSeconds: 20\n", "podMaxBackoffSeconds: Invalid value: 10"},
		{"arguments twice", header + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {}}, {name: VolumeBinding, args: {}}]}]\n", "profiles[0].pluginConfig[1].name: Duplicate value"},
		{"arguments of a plugin without any", header + "profiles: [{pluginConfig: [{name: NodeName, args: {}}]}]\n", "the plugin has no arguments"},
		{"strategy", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Least}}}]}]\n", "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Least\""},
		{"no shape", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]\n", "requestedToCapacityRatio: Required value"},
		{"shape", header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5, score: 11}, {utilization: 5, score: 1}]}}}}]}]\n", "shape[1].utilization: Invalid value: 5: values must be sorted"},
		{"shape of volumes", header + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 11}]}}]}]\n", "profiles[0].pluginConfig[0].args.shape[0].score: Invalid value: 11: not in valid range [0, 10]"},
		{"constraints without List", header + "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}}]}]\n", "defaultingType: Invalid value: \"System\""},
		{"affinity", header + "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Like}]}]}}}}]}]\n", "addedAffinity: Invalid value"},
		{"candidates", header + "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]\n", "cannot be zero at the same time"},
		{"time", header + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}]\n", "bindTimeoutSeconds: Invalid value: -1"},
		{"time of devices", header + "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 999ms}}]}]\n", "profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: \"999ms\": must be at least 1 second"},
		{"URL of an extender", header + "extenders: [{urlPrefix: a, filterVerb: f}]\n", "extenders[0].urlPrefix: Invalid value"},
		{"weight of an extender", header + "extenders: [{urlPrefix: 'http://a', prioritizeVerb: p}]\n", "extenders[0].weight: Invalid value: 0: must have a positive weight"},
		{"timeout of an extender", header + "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: -1s}]\n", "extenders[0].httpTimeout"},
		{"two binders", header + "extenders: [{urlPrefix: 'http://a', bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b}]\n", "extenders[1].bindVerb: Invalid value: \"b\": only one extender can implement bind"},
		{"native resource", header + "extenders: [{urlPrefix: 'http://a', filterVerb: f, managedResources: [{name: cpu}]}]\n", "managedResources[0].name: Invalid value: \"cpu\""},
		{"resource of two", header + "extenders: [{urlPrefix: 'http://a', managedResources: [{name: a.b/c}]}, {urlPrefix: 'http://b', managedResources: [{name: a.b/c}]}]\n", "extenders[1].managedResources[0].name: Duplicate"},
		{"CA of an extender", header + "extenders: [{urlPrefix: 'https://a', enableHTTPS: true, tlsConfig: {caFile: /nowhere/ca}}]\n", "extenders[0].tlsConfig"},
		{"pod groups", header + "profiles: [{plugins: {placementScore: {enabled: [{name: NodeName}]}}}]\n", "placementScore: Forbidden"},
		{"nested", header + "x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nest"},
		{"large", strings.Repeat(" ", maxBytes+1), "more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.config)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	if _, err := Read(file); err == nil {
		t.Error("a file that does not exist is read")
	}
	if err := os.WriteFile(file, []byte(header+"percentageOfNodesToScore: -1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v does not name the file", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header))
	f.Add([]byte(header + "profiles: [{schedulerName: a, plugins: {multiPoint: {disabled: [{name: '*'}]}}}]\n"))
	f.Add([]byte(header + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := Parse(content)
		if (c == nil) == (err == nil) {
			t.Errorf("configuration %v, error %v", c, err)
		}
		if err == nil && len(c.Profiles) == 0 {
			t.Error("no profiles")
		}
	})
}

func TestExtenders(t *testing.T) {
	c, err := Parse([]byte(header + `
extenders:
- {urlPrefix: 'http://a/', filterVerb: f, ignorable: true}
- {urlPrefix: 'https://b', prioritizeVerb: p, bindVerb: b, preemptVerb: v, weight: 2, enableHTTPS: true, httpTimeout: 3s, managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Extenders) != 2 || c.Extenders[0].Name() != "https://b" || !c.Extenders[1].Ignorable() {
		t.Errorf("the ignorable extender is not the last one: %v", c.Extenders)
	}
	if e := c.Extenders[0]; e.Filters() || !e.Prioritizes() || !e.Binds() || !e.Preempts() {
		t.Errorf("verbs of %s", e.Name())
	}
}
