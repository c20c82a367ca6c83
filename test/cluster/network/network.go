// Package network makes the wires of a cluster: a bridge on the host, a network namespace per node, and the routes to
// each node's pods. Making what is there already changes nothing.
package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

// Bridge makes the bridge and gives the host its address on it.
func Bridge(ctx context.Context, p plan.Plan) error {
	br := p.Bridge()
	if !linkExists(br) {
		if _, err := host.Run(ctx, "ip", "link", "add", br, "type", "bridge"); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("switch on forwarding: %w", err)
	}
	addr := fmt.Sprintf("%s/%d", p.BridgeIP(), p.NodeNet().Bits())
	return inOrder(ctx, []string{
		"ip addr replace " + addr + " dev " + br,
		"ip link set " + br + " up",
	})
}

// AcceptForwarding lets frames pass between the nodes where the host's firewall drops by default, as Docker sets it up.
func AcceptForwarding(ctx context.Context, p plan.Plan) error {
	rules, err := host.Run(ctx, "iptables", "-w", "-S", "FORWARD")
	if err != nil {
		return err
	}
	if !strings.Contains(rules, "-P FORWARD DROP") {
		return nil
	}
	rule := forwardRule(p)
	if _, err := host.Run(ctx, append([]string{"iptables", "-w", "-C"}, rule...)...); err == nil {
		return nil
	}
	_, err = host.Run(ctx, append([]string{"iptables", "-w", "-I"}, rule...)...)
	return err
}

func forwardRule(p plan.Plan) []string {
	return []string{"FORWARD", "-i", p.Bridge(), "-o", p.Bridge(), "-m", "comment", "--comment", "rollcall", "-j", "ACCEPT"}
}

// Node makes the node's namespace, its wire to the bridge, and the routes between its pods and everything else.
func Node(ctx context.Context, p plan.Plan, n plan.Node) error {
	if !namespaceWorks(n) {
		// After a crash the name may be left without a namespace behind it.
		_, _ = host.Run(ctx, "ip", "netns", "delete", n.Netns)
		_ = os.Remove(n.NetnsPath())
		if linkExists(n.Veth) {
			if _, err := host.Run(ctx, "ip", "link", "delete", n.Veth); err != nil {
				return err
			}
		}
		if _, err := host.Run(ctx, "ip", "netns", "add", n.Netns); err != nil {
			return err
		}
	}
	if !linkExists(n.Veth) {
		_, err := host.Run(ctx, "ip", "link", "add", n.Veth, "type", "veth", "peer", "name", "eth0", "netns", n.Netns)
		if err != nil {
			return err
		}
	}
	in := "ip -n " + n.Netns
	steps := []string{
		fmt.Sprintf("ip link set %s master %s up", n.Veth, p.Bridge()),
		fmt.Sprintf("%s addr replace %s/%d dev eth0", in, n.IP, p.NodeNet().Bits()),
		in + " link set eth0 up",
		in + " link set lo up",
		in + " route replace default via " + p.BridgeIP().String(),
		"ip netns exec " + n.Netns + " sysctl -qw net.ipv4.ip_forward=1",
		fmt.Sprintf("ip route replace %s via %s", n.Pods, n.IP),
	}
	for _, m := range p.Nodes {
		if m.Number != n.Number {
			steps = append(steps, fmt.Sprintf("%s route replace %s via %s", in, m.Pods, m.IP))
		}
	}
	return inOrder(ctx, steps)
}

// RemoveNode takes away the node's wire and its namespace, and with that every interface inside.
func RemoveNode(ctx context.Context, n plan.Node) error {
	var errs []error
	if linkExists(n.Veth) {
		errs = append(errs, inOrder(ctx, []string{"ip link delete " + n.Veth}))
	}
	if _, err := os.Stat(n.NetnsPath()); err == nil {
		errs = append(errs, inOrder(ctx, []string{"ip netns delete " + n.Netns}))
	}
	return errors.Join(errs...)
}

// RemoveBridge takes away the bridge and the host's routes over it.
func RemoveBridge(ctx context.Context, p plan.Plan) error {
	_, _ = host.Run(ctx, append([]string{"iptables", "-w", "-D"}, forwardRule(p)...)...) // absent on most machines
	if !linkExists(p.Bridge()) {
		return nil
	}
	return inOrder(ctx, []string{"ip link delete " + p.Bridge()})
}

// Exists reports whether something of this name is there already.
func Exists(p plan.Plan) bool { return linkExists(p.Bridge()) }

func linkExists(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name)
	return err == nil
}

// namespaceWorks tells a namespace from the empty file that is left of one after a restart of the machine.
func namespaceWorks(n plan.Node) bool {
	_, err := host.Run(context.Background(), "nsenter", "--net="+n.NetnsPath(), "--", "true")
	return err == nil
}

func inOrder(ctx context.Context, commands []string) error {
	for _, c := range commands {
		if _, err := host.Run(ctx, strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}
