// Package main is CoreDNS with only the plugins that a cluster's own DNS uses.
//
// The upstream binary also links the SDKs of three clouds, which doubles the build time
// and is never configured here. The order of plugins is upstream's own
// (core/dnsserver/zdirectives.go), so the Corefile that kubeadm writes works unchanged.
package main

import (
	_ "github.com/coredns/caddy/onevent"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"

	"github.com/coredns/coredns/coremain"
)

func main() {
	coremain.Run()
}
