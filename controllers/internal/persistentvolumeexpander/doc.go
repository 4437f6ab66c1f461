// Package persistentvolumeexpander reports which claims wait for an external controller to expand
// them, by the event ExternalExpanding. Upstream's controller also expands the volumes of the
// in-tree drivers that can be expanded; none of them runs here.
package persistentvolumeexpander
