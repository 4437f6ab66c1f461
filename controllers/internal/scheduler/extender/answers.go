package extender

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
)

// maxMessage limits a message of an extender, in bytes: the messages about all nodes become the message
// of one condition.
const maxMessage = 512

// scoreScale scales the scores of extenders, 0 to 10, to plugin scores, 0 to 100.
const scoreScale = 100 / extenderv1.MaxExtenderPriority

// Exclusion is a node that an extender excludes.
type Exclusion struct {
	Node string
	// Reason is the extender's message; "": it gave none.
	Reason string
	// Final is set if preemption on the node would not help.
	Final bool
}

// excluded returns the nodes that the answer to filter does not have, in the order of nodes. As in
// kube-scheduler, a node without a message is final, and a node that was not in the request is an
// error.
func excluded(name string, cached bool, nodes []*framework.NodeInfo, answer *extenderv1.ExtenderFilterResult) ([]Exclusion, error) {
	if answer.Error != "" {
		return nil, errors.New(shortened(answer.Error))
	}
	kept := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		kept[n.Name()] = false
	}
	keep := func(node string) error {
		if _, asked := kept[node]; !asked {
			return fmt.Errorf("extender %q claims a filtered node %q which is not found in the input node list", name, shortened(node))
		}
		kept[node] = true
		return nil
	}
	switch {
	case cached && answer.NodeNames != nil:
		for _, node := range *answer.NodeNames {
			if err := keep(node); err != nil {
				return nil, err
			}
		}
	case answer.Nodes != nil:
		for i := range answer.Nodes.Items {
			if err := keep(answer.Nodes.Items[i].Name); err != nil {
				return nil, err
			}
		}
	}
	var out []Exclusion
	for _, n := range nodes {
		if kept[n.Name()] {
			continue
		}
		reason, final := answer.FailedAndUnresolvableNodes[n.Name()]
		if !final {
			failed, ok := answer.FailedNodes[n.Name()]
			reason, final = failed, !ok
		}
		out = append(out, Exclusion{n.Name(), shortened(reason), final})
	}
	return out, nil
}

// addScores adds the scores of an answer to prioritize, scaled and weighted. Nodes that are not in the
// answer get none, and other nodes in it are ignored.
func addScores(total []int64, nodes []*framework.NodeInfo, answer extenderv1.HostPriorityList, weight int64) {
	scores := make(map[string]int64, len(answer))
	for _, of := range answer {
		scores[of.Host] += of.Score
	}
	for i, n := range nodes {
		total[i] += scores[n.Name()] * weight * scoreScale
	}
}

func wholeVictims(candidates []plugins.Preemption) map[string]*extenderv1.Victims {
	all := make(map[string]*extenderv1.Victims, len(candidates))
	for _, c := range candidates {
		v := &extenderv1.Victims{Pods: make([]*corev1.Pod, len(c.Victims)), NumPDBViolations: int64(c.Violations)}
		for i, p := range c.Victims {
			v.Pods[i] = p.Pod
		}
		all[c.Node] = v
	}
	return all
}

func metaVictims(candidates []plugins.Preemption) map[string]*extenderv1.MetaVictims {
	all := make(map[string]*extenderv1.MetaVictims, len(candidates))
	for _, c := range candidates {
		v := &extenderv1.MetaVictims{Pods: make([]*extenderv1.MetaPod, len(c.Victims)), NumPDBViolations: int64(c.Violations)}
		for i, p := range c.Victims {
			v.Pods[i] = &extenderv1.MetaPod{UID: string(p.Pod.UID)}
		}
		all[c.Node] = v
	}
	return all
}

// preemptions returns the candidates of an answer to preempt, in the order of their nodes' names. Nodes
// without victims are left out of the answer of an ignorable extender; of another, they are an error.
func preemptions(name string, ignorable bool, answer *extenderv1.ExtenderPreemptionResult, snapshot *framework.Snapshot) ([]plugins.Preemption, error) {
	var out []plugins.Preemption
	for _, node := range slices.Sorted(maps.Keys(answer.NodeNameToMetaVictims)) {
		victims := answer.NodeNameToMetaVictims[node]
		n := snapshot.Get(node)
		if n == nil {
			return nil, fmt.Errorf("extender %q claims to preempt pods on node %q, which is not found", name, shortened(node))
		}
		if victims == nil || len(victims.Pods) == 0 {
			if ignorable {
				continue
			}
			return nil, fmt.Errorf("expected at least one victim pod on node %q", node)
		}
		c := plugins.Preemption{Node: node, Violations: int(victims.NumPDBViolations)}
		for _, v := range victims.Pods {
			i := -1
			if v != nil {
				i = slices.IndexFunc(n.Pods, func(p *framework.PodInfo) bool { return string(p.Pod.UID) == v.UID })
			}
			if i < 0 {
				uid := ""
				if v != nil {
					uid = shortened(v.UID)
				}
				return nil, fmt.Errorf("extender %q claims to preempt pod (UID: %s) on node %q, but the pod is not found on that node", name, uid, node)
			}
			c.Victims = append(c.Victims, n.Pods[i])
		}
		out = append(out, c)
	}
	return out, nil
}

// shortened cuts the text to maxMessage, in valid UTF-8.
func shortened(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage] + " ..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
