// Package durable writes files that survive a power cut.
package durable
