package simulatedcloud

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provider is the name of the cloud for --cloud-provider and the scheme of its provider IDs.
const Provider = "simulated"

// Namespace has the ConfigMaps of the cloud. Label says which of them are instances and routes.
const (
	Namespace = "minikcm-cloud"
	Label     = "minikcm.dev/cloud"

	labelInstance = "instance"
	labelRoute    = "route"
)

// The keys of an instance's ConfigMap.
const (
	keyProviderID = "providerID"
	keyType       = "type"
	keyZone       = "zone"
	keyRegion     = "region"
	keyAddress    = "address"
	keyState      = "state"
)

// The states of an instance. One that was deleted has no ConfigMap.
const (
	Running = "running"
	Stopped = "stopped"
)

// The zone and the region of an instance whose node states none.
const (
	DefaultRegion = "simulated-1"
	DefaultZone   = DefaultRegion + "a"
)

// The taints of nodes in a cloud, as k8s.io/cloud-provider names them, and the annotation with
// which a kubelet states the address that its flag --node-ip gives.
const (
	TaintUninitialized   = "node.cloudprovider.kubernetes.io/uninitialized"
	TaintShutdown        = "node.cloudprovider.kubernetes.io/shutdown"
	AnnotationProvidedIP = "alpha.kubernetes.io/provided-node-ip"
)

// Instance is a machine of the cloud. It has its node's name, and its ProviderID identifies it
// among all instances that had the name.
type Instance struct {
	Name       string
	ProviderID string
	Type       string
	Zone       string
	Region     string
	Address    string
	// Stopped means that the machine is shut down.
	Stopped bool
}

// ProviderID returns the provider ID of an instance that is created in a zone at the given time.
func ProviderID(zone, name string, created time.Time) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s/%d", name, created.UnixNano()))
	return fmt.Sprintf("%s:///%s/i-%s", Provider, zone, hex.EncodeToString(digest[:])[:idDigits])
}

// idDigits is the number of hexadecimal digits in a provider ID.
const idDigits = 17

// IsProviderID reports whether a provider ID is of this cloud.
func IsProviderID(id string) bool { return strings.HasPrefix(id, Provider+"://") }

// ConfigMap returns the ConfigMap of the instance.
func (i *Instance) ConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: i.Name, Labels: map[string]string{Label: labelInstance}},
		Data: map[string]string{
			keyProviderID: i.ProviderID, keyType: i.Type, keyZone: i.Zone, keyRegion: i.Region, keyAddress: i.Address,
			keyState: map[bool]string{true: Stopped, false: Running}[i.Stopped],
		},
	}
}

// InstanceOf reads an instance; false if the ConfigMap is none.
func InstanceOf(c *corev1.ConfigMap) (Instance, bool) {
	if c.Namespace != Namespace || c.Labels[Label] != labelInstance || !IsProviderID(c.Data[keyProviderID]) {
		return Instance{}, false
	}
	return Instance{
		Name: c.Name, ProviderID: c.Data[keyProviderID], Type: c.Data[keyType],
		Zone: cmp.Or(c.Data[keyZone], DefaultZone), Region: cmp.Or(c.Data[keyRegion], DefaultRegion),
		Address: c.Data[keyAddress], Stopped: c.Data[keyState] == Stopped,
	}, true
}

// SetState sets the state of the instance of a ConfigMap. It returns false if it has that state.
func SetState(c *corev1.ConfigMap, state string) bool {
	if c.Data[keyState] == state {
		return false
	}
	if c.Data == nil {
		c.Data = map[string]string{}
	}
	c.Data[keyState] = state
	return true
}

// DNSName returns the name of an instance within the cloud.
func (i *Instance) DNSName() string { return i.Name + "." + i.Zone + ".internal" }
