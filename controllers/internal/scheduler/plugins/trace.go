package plugins

// Trace is how a decision came about. It is filled by the decision that has it in its input.
type Trace struct {
	// Filters are the plugins that filtered, in their order. Those that cannot reject any node for
	// the pod are left out.
	Filters []string
	// Nodes are the nodes that were tried, in the order of the tries.
	Nodes []NodeTrace
	// Scores are the scores of the feasible nodes, in the order of the plugins; empty if there was
	// no choice.
	Scores []PluginScores
	// Candidates are the nodes that Preempt has chosen from.
	Candidates []Preemption
}

// NodeTrace is the result of the filters for one node.
type NodeTrace struct {
	Node string
	// Plugin is the plugin that rejected the node, for Reasons; "": none did.
	Plugin  string
	Reasons []string
}

// PluginScores holds the scores of one plugin. Raw are the scores that it returned, Final the
// scores after normalization, times the weight. Both are in the order of Nodes.
type PluginScores struct {
	Plugin     string
	Weight     int64
	Nodes      []string
	Raw, Final []int64
}

// tried records the result of the filters for the node at the index.
func (t *Trace) tried(in *Input, index int, r *rejection) {
	if t == nil {
		return
	}
	if t.Filters == nil {
		t.Filters = in.filterNames()
	}
	traced := NodeTrace{Node: in.Snapshot.Nodes()[index].Name()}
	if r != nil {
		traced.Plugin, traced.Reasons = r.plugin, r.reasons
	}
	t.Nodes = append(t.Nodes, traced)
}

// excluded replaces the result for a node that passed the filters.
func (t *Trace) excluded(node string, r *rejection) {
	if t == nil {
		return
	}
	for i := range t.Nodes {
		if t.Nodes[i].Node == node {
			t.Nodes[i].Plugin, t.Nodes[i].Reasons = r.plugin, r.reasons
		}
	}
}

func (t *Trace) raw(in *Input, s *scorer, indexes []int, scores []int64) {
	of := PluginScores{Plugin: s.name, Weight: s.weight}
	for i, index := range indexes {
		of.Nodes = append(of.Nodes, in.Snapshot.Nodes()[index].Name())
		of.Raw = append(of.Raw, max(scores[i], 0)) // PodTopologySpread marks nodes that it ignores
	}
	t.Scores = append(t.Scores, of)
}

func (t *Trace) final(s *scorer, scores []int64) {
	of := &t.Scores[len(t.Scores)-1]
	for _, score := range scores {
		of.Final = append(of.Final, s.weight*score)
	}
}

// filterNames returns the names of the filters that concern the pod.
func (in *Input) filterNames() []string {
	names := make([]string, 0, len(in.filters)+6)
	for _, f := range in.filters {
		names = append(names, f.name)
	}
	add := func(name string, concerns bool) {
		if concerns {
			names = append(names, name)
		}
	}
	add(VolumeBinding, in.Volumes != nil && in.profile.binding)
	add(VolumeZone, in.Volumes != nil && in.profile.zone)
	add(PodTopologySpread, in.rules != nil && len(in.rules.spread) > 0)
	add(InterPodAffinity, in.rules != nil && len(in.rules.requires)+len(in.rules.avoids)+len(in.rules.avoidedBy) > 0)
	add(DynamicResources, in.Devices != nil)
	add(NodeDeclaredFeatures, in.profile.features && len(in.Pod.Features) > 0)
	return names
}
