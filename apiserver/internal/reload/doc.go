// Package reload follows configuration files: new content of a file takes effect without a
// restart. Content that is not valid leaves the earlier configuration in effect; the log and
// the metrics report it.
package reload
