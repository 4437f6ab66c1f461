package plugins

import "fmt"

// The reasons of the filters, in kube-scheduler's words.
const (
	reasonUnschedulable = "node(s) were unschedulable"
	reasonNodeName      = "node(s) didn't match the requested node name"
	reasonTaint         = "node(s) had untolerated taint(s)"
	reasonNodeAffinity  = "node(s) didn't match Pod's node affinity/selector"
	reasonEnforced      = "node(s) didn't match scheduler-enforced node affinity"
	reasonNotNamed      = "node(s) didn't satisfy plugin(s) [%s]"
	reasonNamesConflict = "pod affinity terms conflict"
	reasonPorts         = "node(s) didn't have free ports for the requested pod ports"
	reasonTooManyPods   = "Too many pods"
	reasonSpread        = "node(s) didn't match pod topology spread constraints"
	reasonSpreadLabel   = reasonSpread + " (missing required label)"
	reasonAffinityRules = "node(s) didn't match pod affinity rules"
	reasonAntiAffinity  = "node(s) didn't match pod anti-affinity rules"
	reasonAvoided       = "node(s) didn't satisfy existing pods anti-affinity rules"
	reasonFeatures      = "node(s) didn't match Pod's required features"
)

// rejection is why a pod cannot be on a node.
type rejection struct {
	// plugin is the plugin that rejects the node.
	plugin  string
	reasons []string
	// final is set if preemption on the node would not help.
	final bool
	// rule is set if a change of pods on other nodes may help.
	rule bool
	// devices is set if the pod's resource claims are the reason.
	devices bool
}

// rejections are the rejections without parameters. All decisions share them.
type rejections struct {
	unschedulable, nodeName, taint, affinity, enforced, notNamed, ports, tooManyPods *rejection
	spread, spreadLabel, affinityRules, antiAffinity, avoided, volumeZone            *rejection
	noDevices, claimElsewhere, noVictims, notHelpful, exclusive, tooManyVolumes      *rejection
	features, claimLeft, notOffered                                                  *rejection
}

func newRejections() rejections {
	final := func(plugin, reason string) *rejection {
		return &rejection{plugin: plugin, reasons: []string{reason}, final: true}
	}
	return rejections{
		unschedulable:  final(NodeUnschedulable, reasonUnschedulable),
		nodeName:       final(NodeName, reasonNodeName),
		taint:          final(TaintToleration, reasonTaint),
		affinity:       final(NodeAffinity, reasonNodeAffinity),
		enforced:       final(NodeAffinity, reasonEnforced),
		notNamed:       final(NodeAffinity, fmt.Sprintf(reasonNotNamed, NodeAffinity)),
		ports:          &rejection{plugin: NodePorts, reasons: []string{reasonPorts}},
		tooManyPods:    &rejection{plugin: NodeResourcesFit, reasons: []string{reasonTooManyPods}},
		spread:         &rejection{plugin: PodTopologySpread, reasons: []string{reasonSpread}, rule: true},
		spreadLabel:    final(PodTopologySpread, reasonSpreadLabel),
		affinityRules:  &rejection{plugin: InterPodAffinity, reasons: []string{reasonAffinityRules}, rule: true, final: true},
		antiAffinity:   &rejection{plugin: InterPodAffinity, reasons: []string{reasonAntiAffinity}, rule: true},
		avoided:        &rejection{plugin: InterPodAffinity, reasons: []string{reasonAvoided}, rule: true},
		volumeZone:     final(VolumeZone, reasonVolumeZone),
		exclusive:      &rejection{plugin: VolumeRestrictions, reasons: []string{reasonExclusive}},
		noVictims:      final(DefaultPreemption, reasonNoVictims),
		tooManyVolumes: &rejection{plugin: NodeVolumeLimits, reasons: []string{reasonTooManyVolumes}},
		notHelpful:     final(DefaultPreemption, reasonNotHelpful),
		features:       final(NodeDeclaredFeatures, reasonFeatures),

		noDevices:      &rejection{plugin: DynamicResources, reasons: []string{reasonNoDevices}, final: true, devices: true},
		claimElsewhere: &rejection{plugin: DynamicResources, reasons: []string{reasonClaimElsewhere}, final: true, devices: true},
		claimLeft:      &rejection{plugin: DynamicResources, reasons: []string{reasonClaimLeft}, final: true, devices: true},
		notOffered:     &rejection{plugin: DynamicResources, reasons: []string{reasonNotOffered}, final: true, devices: true},
	}
}

// fixed is read-only.
var fixed = newRejections()
