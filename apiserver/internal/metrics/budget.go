package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/pressure"
)

// AddBudget serves the state of the budget of the responses in flight.
func (m *Metrics) AddBudget(b *pressure.Budget) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_response_bytes",
			Help: "Bytes of memory held by responses that clients outside the process have not read yet.",
		}, func() float64 { return float64(b.Reserved()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_response_bytes_limit",
			Help: "Bytes that these responses may hold, a part of --memory-limit; 0: no limit.",
		}, func() float64 { return float64(b.Limit()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "minikcm_apiserver_responses_rejected_total",
			Help: "Reads rejected with 429 because their responses did not fit into the limit.",
		}, func() float64 { return float64(b.Rejected()) }),
	)
}

// AddLists serves the state of the encodings of lists.
func (m *Metrics) AddLists(kept *encodings.Kept) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_list_encoding_bytes",
			Help: "Bytes of memory in which the encodings of objects are kept for later lists.",
		}, func() float64 { return float64(kept.Bytes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_list_encoding_bytes_limit",
			Help: "Bytes in which they may be kept, a part of --memory-limit.",
		}, func() float64 { return float64(kept.Limit()) }),
	)
}
