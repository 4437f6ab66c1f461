package metrics

import (
	"iter"

	"github.com/prometheus/client_golang/prometheus"
)

// Stored is how many objects of a resource there are.
type Stored struct {
	Group, Resource string
	Objects         int64
	// Bytes is the size of their stored values.
	Bytes int64
}

// AddStored serves the numbers and sizes of stored objects, with the names and labels of
// kube-apiserver. all yields the resources whose watch caches have started.
func (m *Metrics) AddStored(all iter.Seq[Stored]) {
	labels := []string{"group", "resource"}
	m.registry.MustRegister(&storedCollector{
		all:     all,
		objects: prometheus.NewDesc("apiserver_resource_objects", "Number of stored objects, by resource.", labels, nil),
		bytes:   prometheus.NewDesc("apiserver_resource_size_estimate_bytes", "Bytes of the stored values of the objects, by resource.", labels, nil),
	})
}

// storedCollector reads the numbers when they are collected: resources of custom kinds come and go.
type storedCollector struct {
	all            iter.Seq[Stored]
	objects, bytes *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *storedCollector) Describe(into chan<- *prometheus.Desc) {
	into <- c.objects
	into <- c.bytes
}

// Collect implements prometheus.Collector.
func (c *storedCollector) Collect(into chan<- prometheus.Metric) {
	for s := range c.all {
		into <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue, float64(s.Objects), s.Group, s.Resource)
		into <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(s.Bytes), s.Group, s.Resource)
	}
}

// AddRecord serves the size of the write record. size returns its writes and their bytes of memory,
// limit is the number of writes that it keeps.
func (m *Metrics) AddRecord(size func() (writes int, bytes int64), limit int) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_write_records",
			Help: "Writes in the write record, which minikcm why reads.",
		}, func() float64 { n, _ := size(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_write_records_limit",
			Help: "Writes that the record keeps: the oldest give way to new ones.",
		}, func() float64 { return float64(limit) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "minikcm_apiserver_write_record_bytes",
			Help: "Bytes of memory of the write record, estimated: texts that it shares with objects are counted as its own.",
		}, func() float64 { _, bytes := size(); return float64(bytes) }),
	)
}
