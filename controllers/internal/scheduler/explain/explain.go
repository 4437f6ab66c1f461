package explain

import (
	"encoding/json"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// Asked is the annotation of pods whose decisions are explained: "true".
const Asked = "minikcm.dev/explain-scheduling"

// The annotations with the explanation. Those with the prefix are kube-scheduler-simulator's: JSON
// objects by node and plugin.
const (
	prefix = "kube-scheduler-simulator.sigs.k8s.io/"
	// Filters has "passed" or the reasons of the plugin that rejected the node.
	Filters = prefix + "filter-result"
	// PostFilters has "preemption victim" at the node that preemption frees for the pod.
	PostFilters = prefix + "postfilter-result"
	// Scores has the scores of the plugins, and FinalScores those after normalization, times the
	// weight.
	Scores      = prefix + "score-result"
	FinalScores = prefix + "finalscore-result"
	// Selected is the name of the chosen node; empty: there is none.
	Selected = prefix + "selected-node"
	// Decided is a Decision in JSON.
	Decided = "minikcm.dev/scheduling-decision"
)

const (
	passed    = "passed"
	nominated = "preemption victim"
)

// The limits of the annotations. The API accepts 256 KiB of annotations for each object.
const (
	maxBytes      = 32 << 10 // of each annotation
	maxOthers     = 96 << 10 // of the other annotations of a pod that is explained
	maxCandidates = 10
	maxVictims    = 20
)

// Decision holds details that the simulator's annotations lack.
type Decision struct {
	// Nodes is how many nodes were tried, of Total. The first of them, Shown, are in the other
	// annotations.
	Nodes int `json:"nodes"`
	Shown int `json:"shown"`
	Total int `json:"total"`
	// Message is why there is no node.
	Message string `json:"message,omitempty"`
	// Preemption is the candidate that preemption chose; nil: none.
	Preemption *Preemption `json:"preemption,omitempty"`
	// GroupPreemption is the preemption for the pod's PodGroup; nil: none.
	GroupPreemption *GroupPreemption `json:"groupPreemption,omitempty"`
}

// GroupPreemption describes the pods that are deleted so that all pods of a PodGroup fit.
type GroupPreemption struct {
	// Node is the one that the pod is nominated to; empty: none.
	Node string `json:"node,omitempty"`
	// Victims are the first of Total.
	Victims []string `json:"victims"`
	Total   int      `json:"total"`
	// Violations is the number of victims whose deletion violates a PodDisruptionBudget.
	Violations int `json:"violations"`
}

// Preemption is a node that is freed.
type Preemption struct {
	Candidate `json:",inline"`
	// Because is the rule that excluded the last of the other candidates.
	Because string `json:"because"`
	// Others are other nodes that could have been freed.
	Others []Candidate `json:"others,omitempty"`
}

// Candidate is a node that can be freed.
type Candidate struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
	// Violations is the number of victims whose deletion violates a PodDisruptionBudget.
	Violations int `json:"violations"`
}

// Trace returns the trace that records the decision on a pod; nil: the pod does not ask for it, or
// its other annotations leave too little room.
func Trace(pod *corev1.Pod) *plugins.Trace {
	if pod.Annotations[Asked] != "true" {
		return nil
	}
	others := 0
	for name, value := range pod.Annotations {
		if !strings.HasPrefix(name, prefix) && name != Decided {
			others += len(name) + len(value)
		}
	}
	if others > maxOthers {
		return nil
	}
	return &plugins.Trace{}
}

// Result is how a decision ended.
type Result struct {
	// Node is the chosen node; "": none.
	Node string
	// Total is the number of nodes.
	Total int
	// Message is why there is no node.
	Message string
	// Preemption is the result of preemption; nil: it was not tried.
	Preemption *plugins.Preemption
	// Group is the preemption for the pod's PodGroup; nil: none. Nominated is the node that the pod gets by
	// it; "": none.
	Group     *plugins.GroupPreemption
	Nominated string
}

// Annotations returns the annotations about a decision.
func Annotations(t *plugins.Trace, r Result) map[string]string {
	filters, shown := filterResults(t)
	decision := Decision{Nodes: len(t.Nodes), Shown: shown, Total: r.Total, Message: r.Message}
	if len(decision.Message) > maxBytes/4 {
		decision.Message = decision.Message[:maxBytes/4]
	}
	post := map[string]map[string]string{}
	freed := func(node string) { post[node] = map[string]string{plugins.DefaultPreemption: nominated} }
	if p := r.Preemption; p != nil && p.Node != "" {
		freed(p.Node)
		decision.Preemption = preemption(t, p)
	}
	if g := r.Group; g != nil {
		if r.Nominated != "" {
			freed(r.Nominated)
		}
		decision.GroupPreemption = &GroupPreemption{Node: r.Nominated, Victims: names(g.Victims), Total: len(g.Victims), Violations: g.Violations}
	}
	return map[string]string{
		Filters: filters, PostFilters: encoded(post), Selected: r.Node, Decided: encoded(decision),
		Scores:      scoreResults(t, func(s *plugins.PluginScores) []int64 { return s.Raw }),
		FinalScores: scoreResults(t, func(s *plugins.PluginScores) []int64 { return s.Final }),
	}
}

func filterResults(t *plugins.Trace) (results string, shown int) {
	byNode := limitedMap{}
	for _, n := range t.Nodes {
		of := map[string]string{}
		for _, name := range t.Filters {
			if name == n.Plugin {
				break
			}
			of[name] = passed
		}
		if n.Plugin != "" {
			of[n.Plugin] = strings.Join(n.Reasons, ", ")
		}
		if !byNode.add(n.Node, of) {
			break
		}
		shown++
	}
	return byNode.String(), shown
}

func scoreResults(t *plugins.Trace, values func(s *plugins.PluginScores) []int64) string {
	byNode := limitedMap{}
	if len(t.Scores) == 0 {
		return byNode.String()
	}
	for i, node := range t.Scores[0].Nodes {
		of := map[string]string{}
		for j := range t.Scores {
			of[t.Scores[j].Plugin] = strconv.FormatInt(values(&t.Scores[j])[i], 10)
		}
		if !byNode.add(node, of) {
			break
		}
	}
	return byNode.String()
}

func preemption(t *plugins.Trace, p *plugins.Preemption) *Preemption {
	chosen := &Preemption{Candidate: candidate(p), Because: p.Because(t.Candidates)}
	for i := range t.Candidates {
		if c := &t.Candidates[i]; c.Node != p.Node && len(chosen.Others) < maxCandidates {
			chosen.Others = append(chosen.Others, candidate(c))
		}
	}
	return chosen
}

func candidate(p *plugins.Preemption) Candidate {
	return Candidate{Node: p.Node, Violations: p.Violations, Victims: names(p.Victims)}
}

// names returns the names of the first victims.
func names(victims []*framework.PodInfo) []string {
	all := []string{}
	for _, v := range victims[:min(len(victims), maxVictims)] {
		all = append(all, v.Pod.Namespace+"/"+v.Pod.Name)
	}
	return all
}

// limitedMap is a JSON object of at most maxBytes.
type limitedMap struct{ b strings.Builder }

// add adds an entry, unless it is too large.
func (m *limitedMap) add(key string, value any) bool {
	entry := encoded(key) + ":" + encoded(value)
	if m.b.Len()+len(entry)+2 > maxBytes {
		return false
	}
	if m.b.Len() > 0 {
		m.b.WriteByte(',')
	}
	m.b.WriteString(entry)
	return true
}

func (m *limitedMap) String() string { return "{" + m.b.String() + "}" }

func encoded(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers, and maps and structures of them
	}
	return string(data)
}
