// Package resourcequota maintains the status of ResourceQuotas: the usage of each limit in
// a namespace, counted whenever usage may have decreased, and every five minutes. The apiserver
// itself adds the usage of the objects that it admits.
package resourcequota
