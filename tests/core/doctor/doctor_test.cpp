// SPDX-License-Identifier: Apache-2.0
// Each fault in a made-up machine is one finding, of its check; the machine without a fault has
// none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/doctor/examination.h"
#include "core/doctor/thresholds.h"
#include "tests/core/base/fake_tree.h"

namespace rdmameter {
namespace {

/// Two CPUs on two nodes; an Ethernet adapter at node 0, an InfiniBand one at node 0.
class SoundMachine : public FakeTree {
 public:
  SoundMachine() {
    write_host();
    write_device("mlx5_0", "Ethernet");
    write_device("mlx5_1", "InfiniBand");
    for (const char* index : {"0", "1"})
      write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/" + std::string(index), "eth0\n");
    write(kGidTypes + "0", "IB/RoCE v1\n");
    write(kGidTypes + "1", "RoCE v2\n");
    write("sys/class/net/eth0/mtu", "9000\n");
    write("sys/bus/pci/devices/0000:00:00.0/class", "0x060000\n");
    for (const char* name : {"mlx5_0", "mlx5_1"})
      access.devices.push_back(
          {.name = name, .failure = {}, .remedy = {}, .objects = {{"qp", 2, 131072}}});
  }

  Examination examined() const { return examine({root() / "proc", root() / "sys"}, access); }

  DeviceAccess access;

  /// Networks of 24 bits, as the kernel lists them, after a default route.
  static std::string route_text(const std::vector<std::pair<std::string, std::string>>& networks) {
    std::string text =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n"
        "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\n";
    for (const auto& [netdev, network] : networks)
      text += netdev + "\t" + network + "\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n";
    return text;
  }

  /// A second Ethernet port, of mlx5_0, with an interface of its own.
  void add_port(const std::string& netdev) const {
    const std::string port = "sys/class/infiniband/mlx5_0/ports/2/";
    write(port + "state", "4: ACTIVE\n");
    write(port + "rate", "100 Gb/sec (4X EDR)\n");
    write(port + "link_layer", "Ethernet\n");
    write(port + "gid_attrs/ndevs/0", netdev + "\n");
    write(port + "gid_attrs/types/0", "RoCE v2\n");
    write("sys/class/net/" + netdev + "/mtu", "9000\n");
  }

  static inline const std::string kGidTypes =
      "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/";

 private:
  void write_host() const {
    write("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0\n");
    write("proc/self/limits", "Max locked memory         unlimited            unlimited  bytes\n");
    write("proc/loadavg", "0.10 0.20 0.30 1/100 1\n");
    write("proc/net/route", route_text({{"eth0", "0000000A"}, {"ib0", "0000010A"}}));
    const std::string cpu = "sys/devices/system/cpu/cpu0/";
    write(cpu + "cpufreq/scaling_governor", "performance\n");
    write(cpu + "cpuidle/state1/latency", "2\n");
    write(cpu + "cpuidle/state2/latency", "133\n");
    write(cpu + "cpuidle/state2/disable", "1\n");
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    write("sys/devices/system/node/online", "0-1\n");
    write("sys/devices/system/node/node0/cpulist", "0\n");
    write("sys/devices/system/node/node0/distance", "10 21\n");
    write("sys/devices/system/node/node1/cpulist", "1\n");
    write("sys/devices/system/node/node1/distance", "21 10\n");
  }

  void write_device(const std::string& name, const std::string& link_layer) const {
    const std::string device = "sys/class/infiniband/" + name + "/";
    write(device + "fw_ver", "22.36.1010\n");
    write(device + "node_guid", "b8ce:f603:00aa:bb0" + name.substr(5) + "\n");
    write(device + "node_type", "1: CA\n");
    write(device + "sys_image_guid", "b8ce:f603:00aa:bb00\n");
    write(device + "device/uevent",
          "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:1a:00." + name.substr(5) + "\n");
    write(device + "ports/1/state", "4: ACTIVE\n");
    write(device + "ports/1/rate", "100 Gb/sec (4X EDR)\n");
    write(device + "ports/1/link_layer", link_layer + "\n");
    for (const char* which : {"current", "max"}) {
      write(device + "device/" + which + "_link_width", "16\n");
      write(device + "device/" + which + "_link_speed", "8.0 GT/s PCIe\n");
    }
    write(device + "device/iommu_group/type", "identity\n");
    write(device + "device/numa_node", "0\n");
    write(device + "device/local_cpulist", "0\n");
    write(device + "device/msi_irqs/40", "msix\n");
    write("proc/irq/40/smp_affinity_list", "0\n");
  }
};

TEST(Doctor, FindsNothingOnASoundMachineAndKnowsAll) {
  const Examination examination = SoundMachine().examined();
  for (const Finding& finding : examination.findings)
    ADD_FAILURE() << finding.check << ": " << finding.cause;
  EXPECT_TRUE(examination.unknown.empty());
}

const std::string kRoce = "sys/class/infiniband/mlx5_0/";
const std::string kInfiniBand = "sys/class/infiniband/mlx5_1/";

/// Name of the check, its weight, and the file of the sound machine that is different.
const std::vector<std::tuple<std::string, Weight, std::string, std::string>> kFaults{
    {"governor", Weight::warning, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
     "powersave\n"},
    {"idle_states", Weight::warning, "sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0\n"},
    {"memlock", Weight::problem, "proc/self/limits",
     "Max locked memory         8388608              8388608    bytes\n"},
    {"huge_pages", Weight::warning, "sys/kernel/mm/transparent_hugepage/enabled",
     "always madvise [never]\n"},
    {"clock", Weight::warning, "sys/devices/system/clocksource/clocksource0/current_clocksource",
     "hpet\n"},
    {"load", Weight::warning, "proc/loadavg", "3.50 1.00 1.00 4/100 1\n"},
    {"pcie", Weight::warning, kRoce + "device/max_link_width", "32\n"},
    {"pcie", Weight::warning, kRoce + "device/max_link_speed", "16.0 GT/s PCIe\n"},
    {"slot_rate", Weight::warning, kRoce + "ports/1/rate", "200 Gb/sec (4X HDR)\n"},
    {"link", Weight::warning, kInfiniBand + "ports/1/rate", "25 Gb/sec (1X EDR)\n"},
    {"mtu", Weight::warning, "sys/class/net/eth0/mtu", "1500\n"},
    {"gid_type", Weight::warning, kRoce + "ports/1/gid_attrs/types/1", "IB/RoCE v1\n"},
    {"iommu", Weight::warning, kRoce + "device/iommu_group/type", "DMA-FQ\n"},
    {"irq_affinity", Weight::warning, kRoce + "device/local_cpulist", "1\n"},
    {"numa", Weight::warning, kRoce + "device/numa_node", "1\n"},
    {"node_guid", Weight::problem, kRoce + "node_guid", "0000:0000:0000:0000\n"},
    {"bond", Weight::warning, "sys/class/net/eth0/bonding/mode", "802.3ad 4\n"},
    {"functions", Weight::warning, kInfiniBand + "device/uevent", "PCI_SLOT_NAME=0002:01:00.0\n"},
};

/// HDR100 and NDR200 are two lanes; of QDR's 40 Gb/s 32 are data, which this slot carries.
TEST(Doctor, LinksOfTwoLanesFromHdrOnAndTheCodingOfQdrAreNoFault) {
  const auto checks_of = [](const std::string& rate, const std::string& slot_speed) {
    const SoundMachine machine;
    machine.write(kInfiniBand + "ports/1/rate", rate + "\n");
    for (const char* which : {"current", "max"})
      machine.write(kInfiniBand + "device/" + which + "_link_speed", slot_speed + "\n");
    std::vector<std::string> checks;
    for (const Finding& finding : machine.examined().findings) checks.push_back(finding.check);
    return checks;
  };
  using testing::Contains, testing::Not;
  for (const char* rate : {"100 Gb/sec (2X HDR)", "200 Gb/sec (2X NDR)", "400 Gb/sec (4X NDR)"})
    EXPECT_THAT(checks_of(rate, "64.0 GT/s PCIe"), Not(Contains("link"))) << rate;
  EXPECT_THAT(checks_of("50 Gb/sec (1X HDR)", "64.0 GT/s PCIe"), Contains("link"));
  EXPECT_THAT(checks_of("50 Gb/sec (2X EDR)", "64.0 GT/s PCIe"), Contains("link"));
  EXPECT_THAT(checks_of("40 Gb/sec (4X QDR)", "2.5 GT/s PCIe"), Not(Contains("slot_rate")));
  EXPECT_THAT(checks_of("56 Gb/sec (4X FDR)", "2.5 GT/s PCIe"), Contains("slot_rate"));
}

TEST(Doctor, CpusOfFartherNodesAreNoFaultWhereThereIsANearOne) {
  const SoundMachine machine;
  machine.write("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-1\n");
  for (const Finding& finding : machine.examined().findings) EXPECT_NE(finding.check, "numa");
}

TEST(Doctor, FindsAGpuThatHasNoAdapterBelowItsHostBridge) {
  const SoundMachine machine;
  const auto add = [&](const std::string& link, const std::string& place, const char* node) {
    machine.write("sys/devices/" + place + "/numa_node", node);
    machine.link("sys/" + link, machine.root() / "sys/devices" / place);
  };
  const auto gpu = [&](const std::string& place, const char* maker, const char* kind) {
    add("bus/pci/devices/" + place.substr(place.rfind('/') + 1), place, "1\n");
    machine.write("sys/devices/" + place + "/vendor", maker);
    machine.write("sys/devices/" + place + "/class", kind);
  };
  add("class/infiniband/mlx5_2/device", "pci0000:15/0000:15:01.0/0000:16:00.0", "0\n");
  add("class/infiniband/mlx5_3/device", "pci0000:98/0000:98:01.0/0000:99:00.0", "1\n");
  gpu("pci0000:15/0000:15:02.0/0000:17:00.0", "0x10de\n", "0x030200\n");  // near mlx5_2
  gpu("pci0000:99/0000:9a:00.0", "0x1234\n", "0x030000\n");               // of no maker's kind
  gpu("pci0000:99/0000:9b:00.0", "0x10de\n", "0x040300\n");               // its sound
  const auto causes = [&] {
    std::vector<std::string> found;
    for (const Finding& finding : machine.examined().findings)
      if (finding.check == "gpu_path") found.push_back(finding.cause);
    return found;
  };
  EXPECT_THAT(causes(), testing::IsEmpty());
  gpu("pci0000:a0/0000:a1:00.0", "0x1002\n", "0x120000\n");
  EXPECT_THAT(causes(), testing::ElementsAre(testing::HasSubstr(
                            "GPU 0000:a1:00.0 and the nearest adapter, mlx5_3, are below different "
                            "host bridges")));
  machine.write("sys/devices/pci0000:98/0000:98:01.0/0000:99:00.0/numa_node", "2\n");
  EXPECT_THAT(causes(), testing::ElementsAre(testing::HasSubstr("are on different sockets")));
}

TEST(Doctor, EfaHasNoNodeGuid) {
  const SoundMachine machine;
  machine.write(kRoce + "node_guid", "0000:0000:0000:0000\n");
  machine.write(kRoce + "node_type", "7: <unknown>\n");
  for (const Finding& finding : machine.examined().findings) EXPECT_NE(finding.check, "node_guid");
}

TEST(Doctor, GidsOfIwarpAreNoneOfRoce) {
  const SoundMachine machine;
  machine.write(SoundMachine::kGidTypes + "1", "IB/RoCE v1\n");
  machine.write(kRoce + "node_type", "4: RNIC\n");
  for (const Finding& finding : machine.examined().findings) EXPECT_NE(finding.check, "gid_type");
}

TEST(Doctor, KnowsDistancesWhereNodesBetweenAreOff) {
  const SoundMachine machine;  // whose node 1 is off, so a row's second number is of node 2
  machine.write("sys/devices/system/node/online", "0,2\n");
  machine.write("sys/devices/system/node/node1/cpulist", "\n");
  machine.write("sys/devices/system/node/node2/cpulist", "2\n");
  machine.write("sys/devices/system/node/node2/distance", "21 10\n");
  machine.write(kRoce + "device/numa_node", "2\n");
  machine.write("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t2\n");
  for (const Finding& finding : machine.examined().findings) {
    EXPECT_EQ(finding.check, "numa");  // of the other device, at node 0
    EXPECT_TRUE(finding.cause.starts_with("mlx5_1 ")) << finding.cause;
    EXPECT_NE(finding.cause.find("at distance 21 "), std::string::npos) << finding.cause;
  }
  EXPECT_EQ(machine.examined().findings.size(), 1U);
}

TEST(Doctor, MakesOneFindingOfEachFault) {
  for (const auto& [check, weight, file, content] : kFaults) {
    SCOPED_TRACE(check + " by " + file);
    const SoundMachine machine;
    machine.write(file, content);
    const std::vector<Finding> findings = machine.examined().findings;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].check, check);
    EXPECT_EQ(findings[0].weight, weight);
    EXPECT_FALSE(findings[0].cause.empty() || findings[0].remedy.empty());
  }
}

/// The only finding of a machine.
Finding only_finding(const SoundMachine& machine) {
  const std::vector<Finding> findings = machine.examined().findings;
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? Finding{} : findings[0];
}

TEST(Doctor, AsksLibibverbsForEachDeviceOfTheKernel) {
  SoundMachine machine;
  machine.access.devices.pop_back();
  machine.access.hidden = "there is no node";
  Finding finding = only_finding(machine);
  EXPECT_EQ(finding.check, "access");
  EXPECT_EQ(finding.weight, Weight::warning);  // the other one can be used
  EXPECT_EQ(finding.cause, "the kernel has mlx5_1, and libibverbs does not find it");
  EXPECT_NE(finding.remedy, "there is no node");  // which mlx5_0 has
  machine.access.devices.clear();
  ASSERT_EQ(machine.examined().findings.size(), 2U);
  EXPECT_EQ(machine.examined().findings[1].weight, Weight::problem);
  EXPECT_EQ(machine.examined().findings[1].remedy, "there is no node");

  SoundMachine closed;
  closed.access.devices[0].failure = "Permission denied";
  closed.access.devices[0].remedy = "let this user open the nodes";
  finding = only_finding(closed);
  EXPECT_EQ(finding.check, "access");
  EXPECT_EQ(finding.cause, "this process cannot open mlx5_0: Permission denied");
  EXPECT_EQ(finding.remedy, "let this user open the nodes");
}

TEST(Doctor, CallsGidsOfInterfacesElsewhereAProblem) {
  const SoundMachine machine;
  for (const char* index : {"0", "1"})
    machine.write(kRoce + "ports/1/gid_attrs/ndevs/" + index, "eth7\n");
  const Finding finding = only_finding(machine);
  EXPECT_EQ(finding.check, "namespace");
  EXPECT_EQ(finding.weight, Weight::problem);
  EXPECT_NE(finding.cause.find("mlx5_0/1 "), std::string::npos) << finding.cause;
  machine.write(kRoce + "ports/1/gid_attrs/ndevs/1", "eth0\n");  // one is here
  EXPECT_TRUE(machine.examined().findings.empty());
}

TEST(Doctor, WarnsOfTwoPortsInOneSubnet) {
  const SoundMachine machine;
  machine.add_port("eth1");
  machine.write("proc/net/route",
                SoundMachine::route_text({{"eth0", "0000000A"}, {"eth1", "0000010A"}}));
  EXPECT_TRUE(machine.examined().findings.empty());
  machine.write("proc/net/route",
                SoundMachine::route_text({{"eth0", "0000000A"}, {"eth1", "0000000A"}}));
  EXPECT_EQ(only_finding(machine).check, "subnets");
}

TEST(Doctor, CallsVirtualFunctionsAndPortsOfOneSlotNoSharedPort) {
  const SoundMachine machine;
  machine.write(kInfiniBand + "device/uevent", "PCI_SLOT_NAME=0000:1a:01.0\n");
  machine.write(kInfiniBand + "device/physfn/vendor", "0x15b3\n");
  EXPECT_TRUE(machine.examined().findings.empty());
}

TEST(Doctor, WarnsOfObjectsThatRunOut) {
  SoundMachine machine;
  machine.access.devices[1].objects = {{"qp", 4000, 4026}, {"cm_id", 4000, 0}};
  const Finding finding = only_finding(machine);
  EXPECT_EQ(finding.check, "objects");
  EXPECT_NE(finding.cause.find("mlx5_1 has 4000 of at most 4026 objects of the type qp"),
            std::string::npos)
      << finding.cause;
}

TEST(Doctor, SeesAGidBehindFreeSlotsOfItsTable) {
  const SoundMachine machine;
  machine.write(SoundMachine::kGidTypes + "1", "IB/RoCE v1\n");
  machine.write(SoundMachine::kGidTypes + "65", "RoCE v2\n");
  EXPECT_TRUE(machine.examined().findings.empty());
}

TEST(Doctor, LetsAProcessThatMayLockAnyMemoryHaveALimit) {
  const SoundMachine machine;
  machine.write("proc/self/limits", "Max locked memory         65536    65536    bytes\n");
  machine.write("proc/self/status", "CapEff:\t0000000000004000\nCpus_allowed_list:\t0\n");
  EXPECT_TRUE(machine.examined().findings.empty());
}

TEST(Doctor, CallsAMachineWithoutAnActivePortAProblem) {
  const SoundMachine machine;
  for (const std::string& device : {kRoce, kInfiniBand})
    machine.write(device + "ports/1/state", "1: DOWN\n");
  const std::vector<Finding> findings = machine.examined().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].check, "device");
  EXPECT_EQ(findings[0].weight, Weight::problem);
}

TEST(Doctor, SaysWhatTheKernelDoesNotShow) {
  const FakeTree empty;
  const Examination examination = examine({empty.root(), empty.root()});
  ASSERT_EQ(examination.findings.size(), 1U);  // no device
  EXPECT_EQ(examination.unknown.size(),
            host_checks().size() + device_checks().size() + reach_checks().size() - 1);
}

TEST(Doctor, PutsProblemsFirst) {
  const SoundMachine machine;
  machine.write("proc/loadavg", "3.50 1.00 1.00 4/100 1\n");
  for (const std::string& device : {kRoce, kInfiniBand})
    machine.write(device + "ports/1/state", "1: DOWN\n");
  const nlohmann::ordered_json json = examination_json(machine.examined());
  ASSERT_EQ(json["findings"].size(), 2U);
  EXPECT_EQ(json["findings"][0]["weight"], "problem");
  EXPECT_EQ(json["findings"][1]["check"], "load");
  EXPECT_EQ(json["versions"]["devices"][0]["firmware"], "22.36.1010");
  EXPECT_EQ(json["thresholds"].size(), kThresholds.size());
}

TEST(Doctor, ListsTheActivePortsForTheOtherEnd) {
  const SoundMachine machine;
  machine.write(kInfiniBand + "ports/1/state", "1: DOWN\n");
  const nlohmann::ordered_json port{{"name", "mlx5_0/1"},
                                    {"link_layer", "Ethernet"},
                                    {"rate", "100 Gb/sec (4X EDR)"},
                                    {"netdev_mtu", 9000},
                                    {"gid_types", {"IB/RoCE v1", "RoCE v2"}}};
  EXPECT_EQ(examination_json(machine.examined())["ports"], nlohmann::ordered_json::array({port}));
}

TEST(CheckedExamination, IsThatOfAnyMachine) {
  const SoundMachine machine;
  machine.write("proc/loadavg", "3.50 1.00 1.00 4/100 1\n");
  const FakeTree empty;
  for (const Examination& examination :
       {machine.examined(), examine({empty.root(), empty.root()})}) {
    const nlohmann::ordered_json sent = examination_json(examination);
    EXPECT_EQ(
        nlohmann::ordered_json(checked_examination(nlohmann::ordered_json::parse(sent.dump()))),
        nlohmann::ordered_json(sent));
  }
}

TEST(CheckedExamination, IsOfNoOtherShape) {
  const SoundMachine machine;
  machine.write("proc/loadavg", "3.50 1.00 1.00 4/100 1\n");
  const nlohmann::ordered_json good =
      nlohmann::ordered_json::parse(examination_json(machine.examined()).dump());
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, nlohmann::ordered_json>>{
           {"/findings", nullptr},
           {"/findings/0", 1},
           {"/findings/0/check", "two\nlines"},
           {"/findings/0/weight", "grave"},
           {"/findings/0/cause", std::string(3000, 'x')},
           {"/findings/0/remedy", nullptr},
           {"/unknown", 1},
           {"/unknown/0", 1},
           {"/ports/0/name", nullptr},
           {"/ports/0/rate", 1},
           {"/ports/0/netdev_mtu", -1},
           {"/ports/0/gid_types/0", nullptr},
           {"/versions", 1},
           {"/versions/kernel", 1},
           {"/versions/devices/0", "mlx5_0"},
           {"/versions/devices/0/firmware", 1}}) {
    SCOPED_TRACE(pointer);
    nlohmann::ordered_json bad = good;
    bad[nlohmann::ordered_json::json_pointer(pointer)] = value;
    EXPECT_THROW(checked_examination(bad), MeasurementError);
  }
}

}  // namespace
}  // namespace rdmameter
