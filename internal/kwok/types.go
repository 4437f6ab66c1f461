package kwok

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/stages"
)

// The kinds that this package reads, of the group and version of Stages, and their resources.
const (
	KindResourceUsage        = "ResourceUsage"
	KindClusterResourceUsage = "ClusterResourceUsage"
	KindMetric               = "Metric"

	ResourceUsages        = "resourceusages"
	ClusterResourceUsages = "clusterresourceusages"
	MetricResources       = "metrics"
)

const apiVersion = stages.Group + "/" + stages.Version

// document is an object as its author writes it.
type document[Spec any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec           `json:"spec"`
	Status            map[string]any `json:"status,omitempty"`
}

type usageSpec struct {
	// Selector is only in ClusterResourceUsages.
	Selector *selector `json:"selector,omitempty"`
	Usages   []group   `json:"usages,omitempty"`
}

type selector struct {
	MatchNamespaces []string `json:"matchNamespaces,omitempty"`
	MatchNames      []string `json:"matchNames,omitempty"`
}

// group is the usage of the named containers; without names, of all.
type group struct {
	Containers []string            `json:"containers,omitempty"`
	Usage      map[string]amountOf `json:"usage,omitempty"`
}

type amountOf struct {
	Value      *amount `json:"value,omitempty"`
	Expression *string `json:"expression,omitempty"`
}

// amount is the text of a quantity, which is parsed within the limits of package quantity.
type amount string

var errAmount = errors.New("a value is neither a string nor a number")

// UnmarshalJSON implements json.Unmarshaler.
func (a *amount) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = amount(text)
		return nil
	}
	var number json.Number
	if json.Unmarshal(data, &number) != nil {
		return errAmount
	}
	*a = amount(number)
	return nil
}

type metricSpec struct {
	Path    string         `json:"path"`
	Metrics []metricConfig `json:"metrics"`
}

type metricConfig struct {
	Name      string   `json:"name"`
	Help      string   `json:"help,omitempty"`
	Kind      string   `json:"kind"`
	Labels    []label  `json:"labels,omitempty"`
	Value     string   `json:"value,omitempty"`
	Buckets   []bucket `json:"buckets,omitempty"`
	Dimension string   `json:"dimension,omitempty"`
}

type label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type bucket struct {
	Le     float64 `json:"le"`
	Value  string  `json:"value"`
	Hidden bool    `json:"hidden,omitempty"`
}
